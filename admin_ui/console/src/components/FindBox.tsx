import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { ChevronDown } from 'lucide-react'
import { useDeferredValue, useState } from 'react'
import { Button, ComboBox, Input, Label, ListBox, ListBoxItem, Popover } from 'react-aria-components'
import { useMessages } from '../messages/index.tsx'
import styles from './Field.module.css'

export interface Found {
  id: string
  text: string
  detail?: string
}

interface FindBoxProps {
  label: string
  /** The label is the placeholder, as in a line of filters. */
  hideLabel?: boolean
  /** First part of the query key, as of the list of the same things. */
  resource: string
  find: (words: string) => Promise<Found[]>
  onChoose: (found: Found) => void
}

/** A field that finds one of many on the server and hands it over; then it is empty again. */
export function FindBox({ label, hideLabel, resource, find, onChoose }: FindBoxProps) {
  const { common } = useMessages()
  const [text, setText] = useState('')
  // Each choice is made in a new field: an old one would open again when its text is taken away.
  const [chosen, setChosen] = useState(0)
  const words = useDeferredValue(text.trim())
  const { data: items = [] } = useQuery({
    queryKey: [resource, 'find', words],
    queryFn: () => find(words),
    placeholderData: keepPreviousData,
  })
  return (
    <ComboBox
      key={chosen}
      autoFocus={chosen > 0}
      className={styles.field!}
      items={items}
      inputValue={text}
      onInputChange={setText}
      value={null}
      onChange={(id) => {
        const found = items.find((item) => item.id === id)
        if (!found) return
        setText('')
        setChosen((count) => count + 1)
        onChoose(found)
      }}
      allowsEmptyCollection
    >
      <Label className={hideLabel ? 'visually-hidden' : styles.label!}>{label}</Label>
      <div className={styles.combo}>
        <Input className={styles.input!} placeholder={hideLabel ? label : common.search} maxLength={200} />
        <Button className={styles.open!}>
          <ChevronDown size={16} aria-hidden />
        </Button>
      </div>
      <Popover className={styles.popover!}>
        <ListBox className={styles.list!} renderEmptyState={() => <p className={styles.none}>{common.none}</p>}>
          {(item: Found) => (
            <ListBoxItem id={item.id} textValue={item.text} className={styles.choice!}>
              <span dir="auto">{item.text}</span>
              {item.detail && <span className={styles.help}>{item.detail}</span>}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  )
}
