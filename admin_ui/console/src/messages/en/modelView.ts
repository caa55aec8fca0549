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
  plain: 'Tools in plain view',
  plainOnRequest: 'The roles show three tools. A client whose URL, token or registration asks for the plain view is shown these, and the tools for long results and jobs.',
  plainBy: (exposure: string) => `The roles show tools as ${exposure}. A client in plain view alone is also shown the tools for long results and jobs.`,
  plainCount: (count: number) => countOf(count, 'tool', 'tools'),
  noPlain: 'None. Check the names in “How tools are shown”, and what is permitted.',
  resources: 'Resources',
  resourcesHelp: 'A client offers these to its person, who attaches them to a chat.',
  prompts: 'Prompts',
  promptsHelp: 'A client offers these to its person, who picks one.',
  definitions: 'Definitions that a client loads',
  definitionsHelp: 'These three are always the same; the tools are reached through them.',
  instructions: 'Instructions',
}
