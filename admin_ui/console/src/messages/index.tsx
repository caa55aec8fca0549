import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from 'react'
import { I18nProvider } from 'react-aria-components'
import { keepInProfile } from '../api/profile.ts'
import { writeSetting } from '../app/settings.ts'
import type { messages as english } from './en/index.ts'
import * as format from './format.ts'
import type { Language } from './format.ts'

/** Texts of the console. A key that a language lacks fails the compiler. */
export type Messages = typeof english
export type { Language }

interface LanguageState {
  language: Language
  messages: Messages
  setLanguage: (language: Language) => Promise<void>
}

const LanguageContext = createContext<LanguageState | null>(null)

/** Load the texts of a language; each is a chunk of its own. */
export async function loadMessages(language: Language): Promise<Messages> {
  return language === 'ja' ? (await import('./ja/index.ts')).messages : (await import('./en/index.ts')).messages
}

interface LanguageProviderProps {
  language: Language
  messages: Messages
  children: ReactNode
}

export function LanguageProvider({ language, messages, children }: LanguageProviderProps) {
  const [state, setState] = useState({ language, messages })
  const setLanguage = useCallback(async (next: Language) => {
    setState({ language: next, messages: await loadMessages(next) })
    document.documentElement.lang = next
    writeSetting('language', next)
    void keepInProfile({ language: next })
  }, [])
  const value = useMemo(() => ({ ...state, setLanguage }), [state, setLanguage])
  return (
    <LanguageContext value={value}>
      <I18nProvider locale={state.language === 'ja' ? 'ja-JP' : 'en-US'}>{children}</I18nProvider>
    </LanguageContext>
  )
}

export function useLanguage(): LanguageState {
  const state = useContext(LanguageContext)
  if (!state) throw new Error('useLanguage outside LanguageProvider')
  return state
}

export function useMessages(): Messages {
  return useLanguage().messages
}

/** Numbers and times in the language of the interface. */
export function useFormat() {
  const { language } = useLanguage()
  return useMemo(
    () => ({
      number: (value: number) => format.formatNumber(language, value),
      percent: (share: number) => format.formatPercent(language, share),
      date: (time: string | Date) => format.formatDate(language, time),
      hour: (time: string | Date) => format.formatHour(language, time),
      logTime: (time: string | Date) => format.formatLogTime(language, time),
      exact: (time: string | Date) => format.formatExactTime(language, time),
      relative: (time: string | Date, now = new Date()) => format.formatRelativeTime(language, time, now),
      clock: (time: number | string, timeZone: string, withOffset = false) => format.formatClock(language, time, timeZone, withOffset),
      day: (day: string, length: 'short' | 'long' = 'short') => format.formatDay(language, day, length),
      zone: (timeZone: string, time: number) => format.formatZone(language, timeZone, time),
      list: (items: string[]) => format.formatList(language, items),
      compare: (left: string, right: string) => format.compareTexts(language, left, right),
    }),
    [language],
  )
}
