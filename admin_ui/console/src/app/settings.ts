/** Choices that this browser remembers; nothing secret. public/first.js reads the first two before the first paint. */

export type SettingName = 'theme' | 'language' | 'shortcuts'

export function readSetting(name: SettingName): string | null {
  try {
    return localStorage.getItem(`mcpist.${name}`)
  } catch {
    return null // storage may be forbidden; then nothing is remembered
  }
}

export function writeSetting(name: SettingName, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`mcpist.${name}`)
    else localStorage.setItem(`mcpist.${name}`, value)
  } catch {
    // as above
  }
}

export type Theme = 'system' | 'light' | 'dark'

export function readTheme(): Theme {
  const theme = readSetting('theme')
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

export function setTheme(theme: Theme): void {
  writeSetting('theme', theme === 'system' ? null : theme)
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}
