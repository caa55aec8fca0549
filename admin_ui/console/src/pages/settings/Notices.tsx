import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, read, readVersioned } from '../../api/client.ts'
import type { SchemaAlertSettingsView, SchemaNotificationSettingsView } from '../../api/schema.d.ts'
import { expect, type Versioned } from '../../api/versions.ts'
import { Button } from '../../components/Button.tsx'
import { Card, Loaded } from '../../components/Card.tsx'
import { ConflictNotice } from '../../components/ConflictNotice.tsx'
import { ItemList } from '../../components/Facts.tsx'
import { Checkbox, Field } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { showToast } from '../../components/toasts.tsx'
import { useVersionedForm } from '../../components/useVersionedForm.ts'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { settingsRoute } from './route.ts'

const FORM = ['id'] as const

/** Which alerts the company sends, and to whom. */
export function Notices() {
  const { profile, settings } = useMessages()
  const format = useFormat()
  const { id } = settingsRoute.useSearch()
  const { open, close } = useOverlay(FORM)
  const query = useQuery({
    queryKey: ['notification-settings'],
    queryFn: () => readVersioned(api.GET('/api/v1/notification-settings', {})),
  })
  const describe = (one: SchemaAlertSettingsView) => {
    const ways = [
      ...(one.mail ? [settings.byMail, ...(one.administrators ? [settings.administrators] : []), ...one.addresses] : []),
      ...(one.webhook ? [settings.byWebhook] : []),
    ]
    return ways.length > 0 ? format.list(ways) : settings.notSent
  }
  return (
    <Card title={settings.views.notices} help={settings.noticesHelp}>
      <Loaded query={query}>
        {(stored) => {
          const { alerts } = stored
          const chosen = alerts.find((one) => one.alert === id)
          return (
            <>
              <ItemList
                label={settings.views.notices}
                items={alerts}
                itemKey={(one) => one.alert}
                title={(one) => profile.alerts[one.alert]}
                detail={describe}
                end={(one) => (
                  <Button aria-label={settings.changeOf(profile.alerts[one.alert])} onPress={() => open({ id: one.alert })}>
                    {settings.change}
                  </Button>
                )}
                empty=""
              />
              {chosen && <AlertForm key={chosen.alert} stored={stored} alert={chosen.alert} onClose={close} />}
            </>
          )
        }}
      </Loaded>
    </Card>
  )
}

interface AlertFormProps {
  stored: Versioned<SchemaNotificationSettingsView>
  alert: SchemaAlertSettingsView['alert']
  onClose: () => void
}

const SWITCHES = ['mail', 'administrators', 'webhook'] as const

function AlertForm({ stored, alert, onClose }: AlertFormProps) {
  const { common, profile, settings } = useMessages()
  const queries = useQueryClient()
  const refresh = () => queries.invalidateQueries({ queryKey: ['notification-settings'] })
  const pick = ({ alerts }: SchemaNotificationSettingsView) => pickValues(alerts.find((one) => one.alert === alert)!)
  const form = useVersionedForm({
    stored,
    pick,
    refresh,
    send: async (changes, etag) => {
      // The API takes an alert whole, so what somebody else has changed meanwhile is read before it is sent.
      const now = etag === stored.etag ? stored : await readVersioned(api.GET('/api/v1/notification-settings', {}))
      const { addresses, ...switches } = { ...pick(now), ...changes }
      const body = { alert, ...switches, addresses: addresses.split(/[\s,]+/).filter(Boolean) }
      await read(api.PUT('/api/v1/notification-settings', { body, params: { header: expect(etag) } }))
      await refresh()
      showToast(common.saved)
      onClose()
    },
  })
  const texts = {
    mail: settings.sendMail,
    administrators: settings.tellAdministrators,
    webhook: settings.sendWebhook,
    addresses: settings.addresses,
  }
  return (
    <ModalForm
      title={profile.alerts[alert]}
      submit={common.save}
      onClose={onClose}
      onSubmit={form.save}
      problem={form.problem}
      conflict={
        <ConflictNotice
          form={form}
          label={(name) => texts[name]}
          show={(_, value) => (typeof value === 'boolean' ? (value ? settings.on : settings.off) : String(value) || '–')}
        />
      }
      hasConflict={form.conflict !== null}
    >
      {SWITCHES.map((name) => (
        <Checkbox key={name} isSelected={form.values[name]} onChange={(on) => form.set(name, on)}>
          {texts[name]}
        </Checkbox>
      ))}
      <Field
        name="addresses"
        label={settings.addresses}
        help={settings.addressesHelp}
        value={form.values.addresses}
        onChange={(addresses) => form.set('addresses', addresses)}
        maxLength={5000}
        long
      />
    </ModalForm>
  )
}

const pickValues = ({ mail, administrators, webhook, addresses }: SchemaAlertSettingsView) => ({
  mail,
  administrators,
  webhook,
  addresses: addresses.join('\n'),
})
