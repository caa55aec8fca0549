import { countOf } from '../format.ts'

export const home = {
  title: 'Start',
  roles: 'Your roles',
  noRoles: 'You have no role yet. An administrator gives you one, and with it tools.',
  services: 'Your services',
  noServices: 'No service yet: none of your roles allows a tool.',
  usable: (count: number) => `${countOf(count, 'service', 'services')} ready`,
  needsConnect: (count: number) => `${count} to connect`,
  notSetUp: (count: number) => `${count} not set up`,
  broken: (count: number) => `${count} broken`,
  allTools: 'All tools',
}
