import { common } from './common.ts'
import { connections } from './connections.ts'
import { modelView } from './modelView.ts'
import { problems } from './problems.ts'
import { roles } from './roles.ts'
import { shell } from './shell.ts'
import { users } from './users.ts'

export const messages = { common, connections, modelView, problems, roles, shell, users }
