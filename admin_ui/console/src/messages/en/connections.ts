/** How an account at a service stands, in one word; the API has a sentence for the cause. */
export const connections = {
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
}
