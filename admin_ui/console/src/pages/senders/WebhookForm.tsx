import { api, read } from '../../api/client.ts'
import type { SchemaNotificationSenderView } from '../../api/schema.d.ts'
import { expect, type Versioned } from '../../api/versions.ts'
import { Field } from '../../components/Field.tsx'
import { TrialForm } from '../../components/TrialForm.tsx'
import { useMessages } from '../../messages/index.tsx'
import { NOT_STORED, useSenderForm } from './useSenderForm.ts'

type WebhookValues = Pick<SchemaNotificationSenderView, 'url'>

/** The form of a webhook that is not stored yet. */
export const NEW_WEBHOOK: Versioned<WebhookValues> = { url: '', etag: NOT_STORED }

const pickValues = ({ url }: WebhookValues): WebhookValues => ({ url })

/** The address that takes every event. */
export function WebhookForm({ stored }: { stored: Versioned<WebhookValues> }) {
  const { senders } = useMessages()
  const { fields, fieldHelp: help } = senders
  const { form, secret, setSecret, despite, setDespite } = useSenderForm({
    kind: 'webhook',
    stored,
    pick: pickValues,
    put: ({ url }, key, despite_failures, etag) => {
      const body = { url: url.trim(), secret: key, despite_failures }
      return read(api.PUT('/api/v1/deployment/notification-senders/webhook', { body, params: { header: expect(etag) } }))
    },
  })
  const { url } = form.values
  const isNew = stored.etag === NOT_STORED
  return (
    <TrialForm
      label={senders.kinds.webhook}
      form={form}
      hasMore={secret !== ''}
      onTry={() =>
        read(
          api.POST('/api/v1/deployment/notification-senders/webhook/test', { body: { url: url.trim(), secret: secret || null } }),
        )
      }
      despite={despite}
      onDespite={setDespite}
      fieldLabel={(name) => fields[name]}
    >
      <Field
        name="url"
        label={fields.url}
        help={help.url}
        value={url}
        onChange={(text) => form.set('url', text)}
        isRequired
        maxLength={2000}
        autoComplete="off"
      />
      {/* For password managers: what the secret belongs to. */}
      <input type="text" autoComplete="username" value={url} readOnly hidden />
      <Field
        name="secret"
        type="password"
        label={fields.secret}
        help={isNew ? help.secretNew : help.storedSecret}
        value={secret}
        onChange={setSecret}
        isRequired={isNew || url !== stored.url}
        maxLength={2000}
        autoComplete="new-password"
      />
    </TrialForm>
  )
}
