// Language and theme before the first paint: the page is one static file, so the server cannot know them.
(() => {
  const read = (name) => {
    try {
      return localStorage.getItem(name)
    } catch {
      return null
    }
  }
  const root = document.documentElement
  const theme = read('mcpist.theme')
  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme
  const chosen = read('mcpist.language')
  const preferred = navigator.languages.find((tag) => /^(?:en|ja)\b/i.test(tag)) || 'en'
  root.lang = chosen === 'en' || chosen === 'ja' ? chosen : preferred.slice(0, 2).toLowerCase()
})()
