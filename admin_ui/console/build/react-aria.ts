import type { Plugin } from 'vite'

interface Patch {
  file: RegExp
  found: string
  instead: string
  times: number
}

/** Places of React Aria that the page's policy forbids: a style element, and text that is parsed as HTML. */
const PATCHES: Patch[] = [
  {
    file: /react-aria\/dist\/private\/overlays\/usePreventScroll\.(?:mjs|js)$/,
    // On iOS only; styles/base.css has this rule for every open overlay.
    found: 'document.head.prepend(style);',
    instead: '',
    times: 1,
  },
  {
    file: /react-aria\/dist\/private\/live-announcer\/LiveAnnouncer\.(?:mjs|js)$/,
    found: ".innerHTML = '';",
    instead: '.replaceChildren();',
    times: 2,
  },
]

/** Replaces them, and fails the build where a release of React Aria has moved one. */
export function patchReactAria(): Plugin {
  const done = new Set<Patch>()
  return {
    name: 'patch-react-aria',
    apply: 'build',
    enforce: 'pre',
    transform(code, id) {
      const patch = PATCHES.find(({ file }) => file.test(id))
      if (!patch) return
      const parts = code.split(patch.found)
      if (parts.length - 1 !== patch.times) this.error(`${id} has ${parts.length - 1} times "${patch.found}"`)
      done.add(patch)
      return { code: parts.join(patch.instead), map: null }
    },
    buildEnd(error) {
      if (error) return
      for (const patch of PATCHES) if (!done.has(patch)) this.error(`no module is ${patch.file.source}`)
    },
  }
}
