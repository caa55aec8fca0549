import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'
import type { SchemaRoleView, SchemaServiceToolView } from '../../api/schema.d.ts'
import type { Versioned } from '../../api/versions.ts'
import { Button } from '../../components/Button.tsx'
import { Actions } from '../../components/Facts.tsx'
import { SelectField } from '../../components/Field.tsx'
import { ListTools, SearchBox } from '../../components/ListTools.tsx'
import { ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useFormat, useLanguage } from '../../messages/index.tsx'
import { LeaveQuestion } from './LeaveQuestion.tsx'
import styles from './PermissionEditor.module.css'
import { PermissionMatrix } from './PermissionMatrix.tsx'
import { applyPreset, compare, countChanges, type Grants, PRESETS, type Preset, readModule, reverseChanges, setTool } from './permissions.ts'
import { serviceToolsQuery } from './queries.ts'
import type { RolesSearch } from './route.ts'
import { savePermissions } from './savePermissions.ts'

interface PermissionEditorProps {
  role: Versioned<SchemaRoleView>
  search: RolesSearch
}

/** What a role may use: every tool of every service, by hand or by preset; sent when it is saved. */
export function PermissionEditor(props: PermissionEditorProps) {
  const { data, error, refetch } = useQuery(serviceToolsQuery)
  if (error) return <ProblemNotice error={error} onRetry={() => void refetch()} />
  if (!data) return <Skeleton lines={8} />
  return <Editor {...props} tools={data} />
}

function Editor({ role, search, tools }: PermissionEditorProps & { tools: SchemaServiceToolView[] }) {
  const { language, messages } = useLanguage()
  const { common, problems, roles } = messages
  const { matrix } = roles
  const format = useFormat()
  const online = useOnline()
  const queries = useQueryClient()
  const { busy, problem, run } = useAction()
  const before = useMemo(() => readGrants(role), [role])
  const [edited, setEdited] = useState<Grants | null>(null)
  const grants = edited ?? before
  const changes = compare(before, grants)
  const count = countChanges(changes)
  const { setService, setFind } = useMatrixSearch()
  const modules = useMemo(() => [...new Map(tools.map((tool) => [tool.module, tool])).values()], [tools])
  const shown = useMemo(() => findTools(tools, search), [tools, search])
  const scope = search.service ? [search.service] : modules.map((tool) => tool.module)
  const choosePreset = (preset: Preset) => setEdited(applyPreset(grants, scope, preset, tools))
  const setShown = (permitted: boolean) => setEdited(shown.reduce((next, tool) => setTool(next, tool, permitted), grants))
  const unknown = [...before.allow, ...before.deny].filter((one) => one !== '*' && !modules.some((tool) => tool.module === readModule(one)))
  const save = () =>
    run(async () => {
      const merged = await savePermissions(queries, role, changes)
      setEdited(null)
      const undo = () => savePermissions(queries, role, reverseChanges(changes), true)
      showToast(merged ? matrix.merged : roles.saved(role.name), async () => void (await undo()))
    })
  return (
    <>
      <ListTools>
        <SearchBox label={matrix.search} value={search.find} onSearch={setFind} />
        <SelectField
          label={matrix.service}
          hideLabel
          value={search.service ?? ''}
          choices={[
            { value: '', label: matrix.allServices },
            ...modules.map((tool) => ({ value: tool.module, label: tool.module_title[language] })),
          ]}
          onChange={setService}
        />
      </ListTools>
      <Actions>
        <span>{matrix.preset}</span>
        {PRESETS.map((preset) => (
          <Button key={preset} onPress={() => choosePreset(preset)}>
            {matrix.presets[preset]}
          </Button>
        ))}
      </Actions>
      {search.find && shown.length > 0 && (
        <Actions>
          <Button onPress={() => setShown(true)}>{matrix.allowShown(shown.length)}</Button>
          <Button onPress={() => setShown(false)}>{matrix.takeShown(shown.length)}</Button>
        </Actions>
      )}
      {shown.length === 0 ? (
        <p>{common.nothingMatches(search.find ?? search.service ?? '')}</p>
      ) : (
        <PermissionMatrix tools={shown} grants={grants} open={Boolean(search.find ?? search.service)} onChange={setEdited} />
      )}
      {unknown.length > 0 && (
        <p className={styles.unknown}>
          {matrix.notInstalled(unknown.length)} {format.list(unknown)}
        </p>
      )}
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
      {count > 0 && (
        <div className={styles.bar} role="status">
          <span>{matrix.changes(count)}</span>
          <Button onPress={() => setEdited(null)}>{common.discard}</Button>
          <Button kind="primary" isPending={busy} isDisabled={!online} onPress={() => void save()}>
            {common.save}
          </Button>
        </div>
      )}
      <LeaveQuestion roleId={role.id} count={count} onDiscard={() => setEdited(null)} />
    </>
  )
}

function readGrants(role: SchemaRoleView): Grants {
  return { allow: new Set(role.allow), deny: new Set(role.deny) }
}

function useMatrixSearch() {
  const navigate = useNavigate({ from: '/roles' })
  const setService = useCallback(
    (service: string) => void navigate({ search: (before) => ({ ...before, service: service || undefined }), replace: true, state: true }),
    [navigate],
  )
  const setFind = useCallback(
    (find: string) => void navigate({ search: (before) => ({ ...before, find: find || undefined }), replace: true, state: true }),
    [navigate],
  )
  return { setService, setFind }
}

function findTools(tools: SchemaServiceToolView[], { service, find }: RolesSearch): SchemaServiceToolView[] {
  const words = fold(find ?? '').split(/\s+/)
  return tools.filter((tool) => {
    if (service && tool.module !== service) return false
    const text = fold(`${tool.module} ${tool.module_title.en} ${tool.module_title.ja} ${tool.name} ${tool.title.en} ${tool.title.ja}`)
    return words.every((word) => text.includes(word))
  })
}

/** Width, case and kana do not count, as on the server. */
function fold(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[ァ-ヶ]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0x60))
}
