import type { SchemaLocalizedTextView } from '../api/schema.d.ts'
import { useLanguage } from '../messages/index.tsx'

/** A text of the API in the language of the interface. */
export function useLocalized(): (text: SchemaLocalizedTextView) => string {
  const { language } = useLanguage()
  return (text) => text[language]
}

/** The same as an element; without a translation it says that it is English. */
export function Localized({ text }: { text: SchemaLocalizedTextView }) {
  const { language } = useLanguage()
  const foreign = language !== 'en' && text[language] === text.en && /[a-z]{2}/.test(text.en)
  return <span lang={foreign ? 'en' : undefined}>{text[language]}</span>
}
