import { ChevronDown } from 'lucide-react'
import { useMemo } from 'react'
import { Button, ComboBox, FieldError, Input, Label, ListBox, ListBoxItem, Popover, Text } from 'react-aria-components'
import styles from '../../components/Field.module.css'
import { getBrowserTimeZone, listTimeZones } from '../../messages/format.ts'
import { useMessages } from '../../messages/index.tsx'

interface TimeZoneFieldProps {
  value: string | null
  onChange: (zone: string | null) => void
}

/** An IANA time zone, found by a few letters; empty is the browser's. */
export function TimeZoneField({ value, onChange }: TimeZoneFieldProps) {
  const { common, profile } = useMessages()
  const items = useMemo(() => listTimeZones(value).map((id) => ({ id })), [value])
  return (
    <ComboBox
      className={styles.field!}
      name="time_zone"
      defaultItems={items}
      defaultInputValue={value ?? ''}
      value={value}
      onChange={(zone) => onChange(zone === null ? null : String(zone))}
      menuTrigger="input"
    >
      <Label className={styles.label!}>
        {profile.timeZone} <span className={styles.optional}>{common.optional}</span>
      </Label>
      <div className={styles.combo}>
        <Input className={styles.input!} maxLength={64} />
        <Button className={styles.open!}>
          <ChevronDown size={16} aria-hidden />
        </Button>
      </div>
      <Text slot="description" className={styles.help!}>
        {profile.timeZoneHelp(getBrowserTimeZone())}
      </Text>
      <FieldError className={styles.error!} />
      <Popover className={styles.popover!}>
        <ListBox className={styles.list!}>
          {(item: { id: string }) => (
            <ListBoxItem id={item.id} textValue={item.id} className={styles.choice!}>
              {item.id}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  )
}
