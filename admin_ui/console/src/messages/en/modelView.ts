import { countOf } from '../format.ts'

/** What a model is shown for a role or a person. */
export const modelView = {
  tab: 'See as',
  help: 'Exactly what a model gets for this and nothing else. What is not here does not exist for it. Tokens are estimates.',
  tools: 'Tools',
  atStart: 'At the start',
  allSchemas: 'If all schemas are read',
  tokens: (count: number) => countOf(count, 'token', 'tokens'),
  modules: 'Tools by service',
  nothing: 'No tools. Permissions count only for services that are switched on.',
  resources: 'Resources',
  resourcesHelp: 'A client offers these to its person, who attaches them to a chat.',
  prompts: 'Prompts',
  promptsHelp: 'A client offers these to its person, who picks one.',
  definitions: 'Definitions that a client loads',
  definitionsHelp: 'These three are always the same; the tools are reached through them.',
  instructions: 'Instructions',
}
