import { useFormat, useMessages } from '../messages/index.tsx'
import { Field } from './Field.tsx'

/** As in core/known_clients.py. */
export const LEAST_RESULT_TOKENS = 200
export const DEFAULT_RESULT_TOKENS = 8_000
export const MOST_RESULT_TOKENS = 50_000

interface ResultTokensFieldProps {
  name?: string
  value?: number | null
  onChange?: (value: number | null) => void
}

/** The tokens that one result may take; empty for the default. */
export function ResultTokensField({ name, value, onChange }: ResultTokensFieldProps) {
  const { results } = useMessages()
  const format = useFormat()
  const [least, most, usual] = [LEAST_RESULT_TOKENS, MOST_RESULT_TOKENS, DEFAULT_RESULT_TOKENS].map(format.number) as [string, string, string]
  return (
    <Field
      label={results.tokens}
      help={results.tokensHelp(least, most, usual)}
      placeholder={usual}
      inputMode="numeric"
      maxLength={6}
      {...(name !== undefined && { name })}
      {...(value !== undefined && { value: value === null ? '' : String(value) })}
      {...(onChange && { onChange: (text: string) => onChange(readResultTokens(text)) })}
      validate={(text) => (isResultTokens(readResultTokens(text)) ? null : results.tokensWrong(least, most))}
    />
  )
}

/** The number in the field: null without one. Letters are left out as they are typed. */
export function readResultTokens(text: unknown): number | null {
  const digits = String(text ?? '')
    .normalize('NFKC')
    .replace(/\D/g, '')
  return digits === '' ? null : Number(digits)
}

function isResultTokens(value: number | null): boolean {
  return value === null || (value >= LEAST_RESULT_TOKENS && value <= MOST_RESULT_TOKENS)
}
