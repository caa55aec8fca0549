import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import { Problem } from '../../api/problems.ts'
import type { SchemaTenantKeyView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { Card, Loaded } from '../../components/Card.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { ItemList } from '../../components/Facts.tsx'
import { Checkbox, Field } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { settingsRoute } from './route.ts'

const FORM = ['kind'] as const
const KEY = ['tenant-keys'] as const

/** The company's own keys of vendors, by which texts are embedded, and where they go. */
export function TenantKeys() {
  const { common, settings } = useMessages()
  const { vendorKeys } = settings
  const { kind } = settingsRoute.useSearch()
  const { open, close } = useOverlay(FORM)
  const [asked, setAsked] = useState<SchemaTenantKeyView | null>(null)
  const query = useQuery({ queryKey: KEY, queryFn: () => read(api.GET('/api/v1/tenant-keys', {})) })
  return (
    <Card title={settings.views.keys} help={vendorKeys.help}>
      <Loaded query={query}>
        {({ keys }) => {
          const chosen = keys.find((one) => one.kind === kind)
          return (
            <>
              <ItemList
                label={settings.views.keys}
                items={keys}
                itemKey={(one) => one.kind}
                title={(one) => one.title}
                detail={(one) => <KeyDetail stored={one} />}
                end={(one) => (
                  <>
                    <Button
                      aria-label={one.stored ? vendorKeys.replaceOf(one.title) : vendorKeys.addOf(one.title)}
                      onPress={() => open({ kind: one.kind })}
                    >
                      {one.stored ? vendorKeys.replace : vendorKeys.add}
                    </Button>
                    {one.stored && (
                      <Button aria-label={vendorKeys.removeOf(one.title)} onPress={() => setAsked(one)}>
                        {common.remove}
                      </Button>
                    )}
                  </>
                )}
                empty={common.none}
              />
              {chosen && <KeyForm key={chosen.kind} stored={chosen} onClose={close} />}
              {asked && <RemoveKey stored={asked} onClose={() => setAsked(null)} />}
            </>
          )
        }}
      </Loaded>
    </Card>
  )
}

function KeyDetail({ stored }: { stored: SchemaTenantKeyView }) {
  const { profile, settings } = useMessages()
  const { vendorKeys } = settings
  const format = useFormat()
  const hosts = vendorKeys.sentTo(format.list(stored.hosts))
  if (!stored.stored) {
    return (
      <>
        {vendorKeys.none} · {hosts}
      </>
    )
  }
  return (
    <>
      {vendorKeys.since} <Time at={stored.updated_at} /> ·{' '}
      {stored.last_used_at ? (
        <>
          {profile.lastUsed} <Time at={stored.last_used_at} />
        </>
      ) : (
        profile.neverUsed
      )}{' '}
      · {hosts}
    </>
  )
}

interface KeyProps {
  stored: SchemaTenantKeyView
  onClose: () => void
}

function KeyForm({ stored, onClose }: KeyProps) {
  const { common, settings, trials } = useMessages()
  const { vendorKeys } = settings
  const format = useFormat()
  const queries = useQueryClient()
  const [despite, setDespite] = useState(false)
  const [wasRefused, setWasRefused] = useState(false)
  const save = async (data: FormData) => {
    const body = { secret: String(data.get('secret')).trim(), despite_failures: despite }
    const path = { tenant_key_kind: stored.kind }
    try {
      await read(api.PUT('/api/v1/tenant-keys/{tenant_key_kind}', { params: { path }, body }))
    } catch (error) {
      setWasRefused(error instanceof Problem && error.status === 409)
      throw error
    }
    await queries.invalidateQueries({ queryKey: KEY })
    showToast(vendorKeys.saved(stored.title))
    onClose()
  }
  return (
    <ModalForm title={vendorKeys.keyOf(stored.title)} submit={common.save} onClose={onClose} onSubmit={save}>
      <p>{vendorKeys.sends(stored.title, format.list(stored.hosts))}</p>
      {/* For password managers: what the key belongs to. */}
      <input type="text" autoComplete="username" value={stored.title} readOnly hidden />
      <Field
        name="secret"
        type="password"
        label={vendorKeys.key}
        help={vendorKeys.keyHelp(stored.title)}
        isRequired
        maxLength={500}
        autoComplete="new-password"
        autoFocus
      />
      <ManageLink stored={stored} />
      {wasRefused && (
        <Checkbox isSelected={despite} onChange={setDespite}>
          {trials.despite}
        </Checkbox>
      )}
    </ModalForm>
  )
}

function RemoveKey({ stored, onClose }: KeyProps) {
  const { common, settings } = useMessages()
  const { vendorKeys } = settings
  const queries = useQueryClient()
  const remove = async () => {
    const path = { tenant_key_kind: stored.kind }
    await read(api.DELETE('/api/v1/tenant-keys/{tenant_key_kind}', { params: { path } }))
    await queries.invalidateQueries({ queryKey: KEY })
    onClose()
    showToast(vendorKeys.removed(stored.title))
  }
  return (
    <ConfirmDestroy
      title={vendorKeys.removeTitle(stored.title)}
      confirm={common.remove}
      typed={stored.title}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>{vendorKeys.removeText(stored.title)}</p>
      <ManageLink stored={stored} />
    </ConfirmDestroy>
  )
}

/** The page of the vendor on which keys are made and ended. */
function ManageLink({ stored }: { stored: SchemaTenantKeyView }) {
  const { settings } = useMessages()
  return (
    <p>
      <a href={stored.manage_url} target="_blank" rel="noreferrer">
        {settings.vendorKeys.manage(stored.title)}
      </a>
    </p>
  )
}
