import { useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'
import { type Sort, writeSort } from '../app/search.ts'

/** Writes the words and the order of a list into the address: typing replaces, a choice can be gone back from. */
export function useListSearch() {
  const navigate = useNavigate()
  const onSearch = useCallback(
    (text: string) => void navigate({ to: '.', search: (before) => ({ ...before, q: text || undefined }), replace: true }),
    [navigate],
  )
  const onSort = useCallback(
    (sort: Sort<string>) => void navigate({ to: '.', search: (before) => ({ ...before, sort: writeSort(sort) }) }),
    [navigate],
  )
  return { onSearch, onSort }
}
