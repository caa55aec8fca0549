import type { Messages } from '../messages/index.tsx'

/** The orders of API tokens that the API knows. */
export type TokenOrder = 'created_at' | '-created_at' | 'name' | '-name'

/** List them with their labels. */
export function listTokenOrders({ orders }: Messages['common']): [TokenOrder, string][] {
  return [
    ['-created_at', orders.newest],
    ['created_at', orders.oldest],
    ['name', orders.name],
    ['-name', orders.nameDown],
  ]
}
