import { describe, expect, test } from 'vitest'
import { parseSearch, readOneOf, readSort, readText, stringifySearch, writeSort } from './search.ts'

describe('the query string', () => {
  test.each(['id=662E41', 'id=12345678901234567890', 'q=%22x%22', 'q=true', 'q=a%2Bb%26c'])('%s stays as it is', (text) => {
    expect(stringifySearch(parseSearch(text))).toBe(`?${text}`)
  })

  test('a value that is not set is left out', () => {
    expect(stringifySearch({ id: undefined, q: '', tab: 'roles' })).toBe('?tab=roles')
    expect(stringifySearch({})).toBe('')
  })

  test('what no page knows falls away', () => {
    expect(readOneOf('secrets', ['roles', 'tokens'])).toBeUndefined()
    expect(readOneOf(['roles'], ['roles'])).toBeUndefined()
    expect(readText('x'.repeat(201))).toBeUndefined()
    expect(readSort('-size', ['name'])).toBeUndefined()
  })

  test.each(['name', '-name'])('the sort %s is read and written', (text) => {
    expect(writeSort(readSort(text, ['name']))).toBe(text)
  })
})
