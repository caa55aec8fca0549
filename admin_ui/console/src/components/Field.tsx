import { Check, ChevronDown } from 'lucide-react'
import type { FormEvent } from 'react'
import {
  Button,
  Checkbox as AriaCheckbox,
  type CheckboxProps as AriaCheckboxProps,
  FieldError,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Select,
  type SelectProps,
  SelectValue,
  Text,
  TextArea,
  TextField,
  type TextFieldProps,
} from 'react-aria-components'
import { useMessages } from '../messages/index.tsx'
import styles from './Field.module.css'

interface FieldProps extends Omit<TextFieldProps, 'className' | 'style' | 'children'> {
  label: string
  /** What to enter and why, under the field. */
  help?: string
  placeholder?: string
  /** More than one line: as many as this. */
  long?: boolean | number
}

/** A text with its label, its help and its error; the form that holds it passes errors on by `name`. */
export function Field({ label, help, placeholder, long, ...props }: FieldProps) {
  const { common } = useMessages()
  return (
    <TextField {...props} className={styles.field!}>
      <Label className={styles.label!}>
        {label}
        {!props.isRequired && !props.isReadOnly && <span className={styles.optional}> {common.optional}</span>}
      </Label>
      {long ? (
        <TextArea className={styles.input!} rows={typeof long === 'number' ? long : 4} placeholder={placeholder} onInput={judgeAgain} />
      ) : (
        <Input className={styles.input!} placeholder={placeholder} onInput={judgeAgain} />
      )}
      {help && (
        <Text slot="description" className={styles.help!}>
          {help}
        </Text>
      )}
      <FieldError className={styles.error!} />
    </TextField>
  )
}

/**
 * React Aria takes an error away when the field is left. A press on a button leaves it, the error's line goes, the button
 * moves, and the press misses it. So a field with an error is judged at every letter.
 */
function judgeAgain(event: FormEvent<HTMLInputElement | HTMLTextAreaElement>): void {
  if (event.currentTarget.ariaInvalid) event.currentTarget.dispatchEvent(new Event('change', { bubbles: true }))
}

export interface Choice<Value extends string> {
  value: Value
  label: string
}

interface SelectFieldProps<Value extends string>
  extends Omit<SelectProps<Choice<Value>>, 'className' | 'style' | 'children' | 'onChange' | 'value' | 'defaultValue'> {
  label: string
  /** The label is for screen readers alone, as in a row of a list. */
  hideLabel?: boolean
  help?: string
  choices: readonly Choice<Value>[]
  value?: Value
  defaultValue?: Value
  onChange?: (value: Value) => void
}

/** One of a few values. */
export function SelectField<Value extends string>({
  label,
  hideLabel,
  help,
  choices,
  value,
  defaultValue,
  onChange,
  ...props
}: SelectFieldProps<Value>) {
  return (
    <Select
      {...props}
      {...(value !== undefined && { value })}
      {...(defaultValue !== undefined && { defaultValue })}
      onChange={(key) => onChange?.(key as Value)}
      className={styles.field!}
    >
      <Label className={hideLabel ? 'visually-hidden' : styles.label!}>{label}</Label>
      <Button className={styles.select!}>
        <SelectValue />
        <ChevronDown size={16} aria-hidden />
      </Button>
      {help && (
        <Text slot="description" className={styles.help!}>
          {help}
        </Text>
      )}
      <FieldError className={styles.error!} />
      <Popover className={styles.popover!}>
        <ListBox items={choices} className={styles.list!}>
          {(choice) => (
            <ListBoxItem id={choice.value} textValue={choice.label} className={styles.choice!}>
              {({ isSelected }) => (
                <>
                  <span>{choice.label}</span>
                  {isSelected && <Check size={16} aria-hidden />}
                </>
              )}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </Select>
  )
}

interface CheckboxProps extends Omit<AriaCheckboxProps, 'className' | 'style' | 'children'> {
  children: string
}

export function Checkbox({ children, ...props }: CheckboxProps) {
  return (
    <AriaCheckbox {...props} className={styles.checkbox!}>
      {({ isSelected }) => (
        <>
          <span className={styles.box}>{isSelected && <Check size={14} strokeWidth={3} aria-hidden />}</span>
          {children}
        </>
      )}
    </AriaCheckbox>
  )
}
