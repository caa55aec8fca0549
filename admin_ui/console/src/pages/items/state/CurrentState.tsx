import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Pencil } from 'lucide-react'
import { useMe } from '../../../api/queries.ts'
import { Button } from '../../../components/Button.tsx'
import { ConflictNotice } from '../../../components/ConflictNotice.tsx'
import { Facts, Section } from '../../../components/Facts.tsx'
import { Field } from '../../../components/Field.tsx'
import { ListTools } from '../../../components/ListTools.tsx'
import { ModalForm } from '../../../components/ModalForm.tsx'
import { useOverlay } from '../../../components/overlay.ts'
import { ProblemNotice, Skeleton, useOnline } from '../../../components/States.tsx'
import { ExactTime } from '../../../components/Time.tsx'
import { showToast } from '../../../components/toasts.tsx'
import { useVersionedForm } from '../../../components/useVersionedForm.ts'
import { useFormat, useMessages } from '../../../messages/index.tsx'
import { ItemLinks } from '../ItemLinks.tsx'
import styles from '../items.module.css'
import { readLines } from '../keys.ts'
import { type State, stateQuery, updateState } from '../queries.ts'
import { itemsRoute } from '../route.ts'
import { useCanWrite, WorkspaceField } from '../WorkspaceField.tsx'
import { StateHistory } from './StateHistory.tsx'

const DIALOG = ['dialog'] as const
const NAME_LENGTH = 100

/** The one text that says how a workspace stands, and those that it had before. */
export function CurrentState() {
  const { items } = useMessages()
  const { workspace, dialog } = itemsRoute.useSearch()
  const { open, close } = useOverlay(DIALOG)
  const online = useOnline()
  const canWrite = useCanWrite()
  const { data, error, refetch } = useQuery(stateQuery(workspace))
  return (
    <>
      <ListTools>
        <WorkspaceField />
        {canWrite && data && (
          <Button icon={Pencil} onPress={() => open({ dialog: 'edit' })} isDisabled={!online}>
            {items.state.edit}
          </Button>
        )}
      </ListTools>
      {!canWrite && <p className={styles.muted}>{items.readOnly}</p>}
      <Section title={items.state.title} help={items.state.help} level={2}>
        {error ? (
          <ProblemNotice error={error} onRetry={() => void refetch()} />
        ) : data ? (
          <StateText state={data} />
        ) : (
          <Skeleton lines={6} />
        )}
      </Section>
      {data && data.revision > 0 && <StateHistory current={data.revision} />}
      {dialog === 'edit' && data && <EditState state={data} workspace={workspace} onClose={close} />}
    </>
  )
}

function StateText({ state }: { state: State }) {
  const { common, items } = useMessages()
  const format = useFormat()
  if (state.revision === 0 || !state.updated_at) return <p className={styles.muted}>{items.state.none}</p>
  return (
    <>
      <pre className={styles.text} dir="auto" tabIndex={0} role="region" aria-label={items.state.title}>
        {state.content}
      </pre>
      <Facts
        facts={[
          [items.fields.updated, <ExactTime key="updated" at={state.updated_at} />],
          [items.fields.updatedBy, state.updated_by || common.none],
          [items.fields.related, <ItemLinks key="related" keys={state.related} />],
          [items.fields.tags, state.tags.join(', ') || common.none],
          [items.fields.revision, format.number(state.revision)],
        ]}
      />
    </>
  )
}

interface EditStateProps {
  state: State
  workspace: string | undefined
  onClose: () => void
}

const pickValues = ({ content, related, tags }: State) => ({ content, related: related.join('\n'), tags: tags.join('\n') })

/** Writes a new state, beginning with the present one. */
function EditState({ state, workspace, onClose }: EditStateProps) {
  const { common, items } = useMessages()
  const me = useMe()
  const queries = useQueryClient()
  const refresh = () => queries.invalidateQueries({ queryKey: ['items'] })
  const form = useVersionedForm({
    stored: state,
    pick: pickValues,
    refresh,
    send: async (changes, etag) => {
      const { content, related, tags } = { ...pickValues(state), ...changes }
      const name = (me.name || me.email).slice(0, NAME_LENGTH)
      const fields = { content, updated_by: name, related: readLines(related), tags: readLines(tags) }
      await updateState(workspace, fields, Number(etag))
      await refresh()
      showToast(items.state.saved)
      onClose()
    },
  })
  const bind = (name: keyof typeof form.values) => ({
    name,
    label: items.fields[name],
    value: form.values[name],
    onChange: (value: string) => form.set(name, value),
  })
  return (
    <ModalForm
      title={items.state.edit}
      submit={common.save}
      onClose={onClose}
      onSubmit={form.save}
      problem={form.problem}
      conflict={<ConflictNotice form={form} label={(name) => items.fields[name]} somebody={items.somebody} />}
      hasConflict={form.conflict !== null}
      wide
    >
      <Field {...bind('content')} help={items.help.content} long={14} maxLength={102_400} isRequired />
      <Field {...bind('related')} help={items.help.related} long={2} maxLength={8_000} />
      <Field {...bind('tags')} help={items.help.tags} long={2} maxLength={6_000} />
    </ModalForm>
  )
}
