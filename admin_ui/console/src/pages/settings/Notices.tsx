import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import type { SchemaAlertSettingsView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { Card, Loaded } from '../../components/Card.tsx'
import { ItemList } from '../../components/Facts.tsx'
import { Checkbox, Field } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { showToast } from '../../components/toasts.tsx'
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
    queryFn: () => read(api.GET('/api/v1/notification-settings', {})),
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
        {({ alerts }) => {
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
              {chosen && <AlertForm alert={chosen} onClose={close} />}
            </>
          )
        }}
      </Loaded>
    </Card>
  )
}

function AlertForm({ alert, onClose }: { alert: SchemaAlertSettingsView; onClose: () => void }) {
  const { common, profile, settings } = useMessages()
  const queries = useQueryClient()
  const save = async (data: FormData) => {
    const body = {
      alert: alert.alert,
      mail: data.has('mail'),
      webhook: data.has('webhook'),
      administrators: data.has('administrators'),
      addresses: String(data.get('addresses') ?? '').split(/[\s,]+/).filter(Boolean),
    }
    await read(api.PUT('/api/v1/notification-settings', { body }))
    await queries.invalidateQueries({ queryKey: ['notification-settings'] })
    showToast(common.saved)
    onClose()
  }
  return (
    <ModalForm title={profile.alerts[alert.alert]} submit={common.save} onClose={onClose} onSubmit={save}>
      <Checkbox name="mail" defaultSelected={alert.mail}>
        {settings.sendMail}
      </Checkbox>
      <Checkbox name="administrators" defaultSelected={alert.administrators}>
        {settings.tellAdministrators}
      </Checkbox>
      <Checkbox name="webhook" defaultSelected={alert.webhook}>
        {settings.sendWebhook}
      </Checkbox>
      <Field
        name="addresses"
        label={settings.addresses}
        help={settings.addressesHelp}
        defaultValue={alert.addresses.join('\n')}
        maxLength={5000}
        long
      />
    </ModalForm>
  )
}
