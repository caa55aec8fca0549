import { useCanGoBack, useNavigate, useRouter } from '@tanstack/react-router'
import { useCallback } from 'react'

/**
 * Opens and closes a panel or dialog that the query string names. Opening pushes; closing goes back where it was opened
 * from the page, and otherwise (a link, a reload) takes its names out of the address.
 */
export function useOverlay(names: readonly string[]) {
  const navigate = useNavigate()
  const router = useRouter()
  const canGoBack = useCanGoBack()
  const open = useCallback(
    (search: Record<string, string>) =>
      void navigate({ to: '.', search: (before) => ({ ...before, ...search }), state: { opened: true } }),
    [navigate],
  )
  /** Without going back: what was shown does not exist any more. */
  const clear = useCallback(() => {
    const cleared = Object.fromEntries(names.map((name) => [name, undefined]))
    void navigate({ to: '.', search: (before) => ({ ...before, ...cleared }), replace: true })
  }, [navigate, names])
  const close = useCallback(() => {
    if (canGoBack && router.state.location.state.opened) router.history.back()
    else clear()
  }, [router, canGoBack, clear])
  /** Another tab of the same panel: the panel stays open, Back leaves it. */
  const replace = useCallback(
    (search: Record<string, string | undefined>) =>
      void navigate({
        to: '.',
        search: (before) => ({ ...before, ...search }),
        replace: true,
        state: (before) => ({ ...before }),
      }),
    [navigate],
  )
  return { open, close, clear, replace }
}
