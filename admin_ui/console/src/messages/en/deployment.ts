import { countOf } from '../format.ts'

/** Keys of the vault, and the checks of doctor. */
export const keys = {
  title: 'Keys',
  help: 'Key-encryption keys wrap the data keys under which credentials are stored. No key is ever shown.',
  healthy: 'Every key that is needed is here and right',
  unhealthy: 'A key that is needed is missing or wrong',
  file: 'Key file',
  providers: 'Key providers',
  rewrapLeft: 'To be wrapped anew',
  reencryptLeft: 'To be encrypted anew',
  list: 'Keys',
  empty: 'No key yet: the first start makes one.',
  active: 'Active',
  inUse: 'In use',
  notUsed: 'Not used',
  missing: 'Missing',
  wrong: 'Not the right key',
  wraps: (tenants: string, data: string, signing: string) => `Tenants: ${tenants}, data keys: ${data}, signing keys and settings: ${signing}`,
  next: 'What to do',
  nothing: 'Nothing: no rotation is under way.',
  steps: {
    restore: 'Restore the missing or wrong key from your copy, or name its key provider in MCPIST_KEYS. Until then what it wraps cannot be read.',
    rewrap: (count: number) =>
      `${countOf(count, 'key is', 'keys are')} still wrapped by an older key. Wrap them by the active one:`,
    reencrypt: (count: number) =>
      `${countOf(count, 'secret is', 'secrets are')} still encrypted under an older data key. Encrypt them anew:`,
    activate: (id: string) => `Key ${id} was added and wraps nothing yet. When your copy and every machine have it, activate it:`,
    retire: (id: string) => `Key ${id} is not needed any more. When your backups do not need it either, retire it:`,
  },
  command: 'Command for the machine of MCPist',
}

export const doctor = {
  title: 'Doctor',
  help: {
    operator: 'What MCPist finds about the deployment and your company, the most urgent first.',
    administrator: 'What MCPist finds about your company’s services and accounts, the most urgent first.',
  },
  again: 'Check again',
  checked: 'Checked',
  healthy: 'No errors',
  unhealthy: 'Something needs to be repaired',
  states: { ok: 'OK', warning: 'Look at it', error: 'Repair it' },
  list: 'Checks',
  counts: (errors: string, warnings: string) => `Errors: ${errors}, warnings: ${warnings}`,
  empty: 'There is nothing to check.',
  checks: {
    'data folder': 'Data folder',
    keys: 'Keys folder',
    database: 'Database',
    clock: 'Clock',
    schema: 'Schema',
    'token keys': 'Token keys',
    'identity settings': 'Settings of sign-in',
    'notice settings': 'Settings of notices',
    'gateway keys': 'Gateway keys',
    'audit log': 'Audit log',
    'audit log retention': 'Retention of the audit log',
    modules: 'Modules',
    tenants: 'Tenants',
    deployment: 'Deployment',
    'vault keys': 'Vault keys',
    credential: 'Account',
  },
  auditStream: (tenant: string) => `Audit stream (${tenant})`,
  databaseRole: (name: string) => `Database role ${name}`,
}
