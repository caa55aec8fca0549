export const connections = {
  /** How an account at a service stands, in one word; the API has a sentence for the cause. */
  states: {
    connected: 'Connected',
    needs_connect: 'Needs connect',
    refreshing: 'Renewing',
    needs_reconnect: 'Broken',
    service_misconfigured: 'Wrong set-up',
    refused: 'Refused',
    vendor_down: 'Service is down',
    disabled: 'Switched off',
  },
  /** Whether accounts of a service can be connected, in one word. */
  setup: { key: 'Ready', oauth: 'Ready', needs_client: 'To set up', needs_site: 'To set up', roles_only: 'Ready for some roles', off: 'Off' },
  methods: {
    key: 'Connected with a key that you create at the service.',
    oauth: 'Connected by signing in at the service.',
    needs_client: 'Needs an OAuth client: a few minutes at the vendor, with the steps above the fields.',
    needs_site: 'Needs the base URL of your site under Settings, or an OAuth client.',
    roles_only: 'Only people of roles that have an OAuth client of their own can connect.',
    off: 'Switched off for everybody.',
  },
  askAdministrator: 'Ask an administrator to set it up.',
  setUp: 'Set up',
  setUpService: (title: string) => `Set up ${title}`,
}
