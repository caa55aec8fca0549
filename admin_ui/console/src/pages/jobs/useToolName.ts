import type { SchemaJobView } from '../../api/schema.d.ts'
import { useLocalized } from '../../components/Localized.tsx'
import { useMessages } from '../../messages/index.tsx'

/** The function that names what a job or a schedule calls: `GitHub: Get job logs`. */
export function useToolName(): (of: Pick<SchemaJobView, 'module_title' | 'tool_title'>) => string {
  const { jobs } = useMessages()
  const localized = useLocalized()
  return ({ module_title, tool_title }) => jobs.toolOf(localized(module_title), localized(tool_title))
}
