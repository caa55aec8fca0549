import { common } from './common.ts'
import { problems } from './problems.ts'
import { roles } from './roles.ts'
import { shell } from './shell.ts'
import { users } from './users.ts'

export const messages = { common, problems, roles, shell, users }
