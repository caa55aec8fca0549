import { common } from './common.ts'
import { connections } from './connections.ts'
import { problems } from './problems.ts'
import { roles } from './roles.ts'
import { shell } from './shell.ts'
import { users } from './users.ts'

export const messages = { common, connections, problems, roles, shell, users }
