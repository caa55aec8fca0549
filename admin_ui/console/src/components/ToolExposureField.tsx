import { useMessages } from '../messages/index.tsx'
import { Field } from './Field.tsx'

interface ToolExposureFieldProps {
  /** Of a token or a client, or of a role: what decides without it. */
  of: 'credential' | 'role'
  value?: string | null
  onChange?: (value: string | null) => void
}

/** As in core/tool_exposure.py. */
const NAME = '[a-z][a-z0-9_]{0,62}'
const EXPOSURE = new RegExp(`^(?:meta|(?:plain|both)(?::\\s*${NAME}(?:\\.${NAME})?(?:\\s*,\\s*${NAME}(?:\\.${NAME})?)*)?)$`)

/** How tools are shown to a client; empty where something else decides. */
export function ToolExposureField({ of, value, onChange }: ToolExposureFieldProps) {
  const { toolExposure } = useMessages()
  return (
    <Field
      name="tool_exposure"
      label={toolExposure.label}
      help={`${toolExposure.form} ${of === 'role' ? toolExposure.ofRole : toolExposure.ofCredential}`}
      placeholder={of === 'role' ? 'meta' : ''}
      maxLength={2000}
      {...(value !== undefined && { value: value ?? '' })}
      {...(onChange && { onChange: (text: string) => onChange(text === '' ? null : text) })}
      validate={(text) => (text.trim() === '' || EXPOSURE.test(text.trim()) ? null : toolExposure.wrong)}
    />
  )
}

/** What the field says: null where it is empty. */
export function readToolExposure(text: unknown): string | null {
  const exposure = String(text ?? '').trim()
  return exposure === '' ? null : exposure
}
