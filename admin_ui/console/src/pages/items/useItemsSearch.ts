import { useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'
import type { ItemsSearch } from './route.ts'

/** Filters are choices: each can be gone back from. */
export function useSetSearch() {
  const navigate = useNavigate({ from: '/items' })
  return useCallback(
    (change: ItemsSearch) => void navigate({ search: (before) => ({ ...before, ...change }) }),
    [navigate],
  )
}
