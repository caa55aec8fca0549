import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaMailSenderUpsert, SchemaNotificationSenderView } from '../../api/schema.d.ts'
import { expect, type Versioned } from '../../api/versions.ts'
import { Field, SelectField } from '../../components/Field.tsx'
import { TrialForm } from '../../components/TrialForm.tsx'
import { useMessages } from '../../messages/index.tsx'
import { NOT_STORED, useSenderForm } from './useSenderForm.ts'

const SECURITIES = ['starttls', 'tls', 'none'] as const
type MailValues = Pick<SchemaNotificationSenderView, 'server' | 'port' | 'security' | 'user' | 'sender'>

/** The form of a mail server that is not stored yet. */
export const NEW_MAIL: Versioned<MailValues> = {
  server: '',
  port: 587,
  security: 'starttls',
  user: '',
  sender: '',
  etag: NOT_STORED,
}

const pickValues = ({ server, port, security, user, sender }: MailValues): MailValues => ({ server, port, security, user, sender })

/** The server that mails are sent by. */
export function MailForm({ stored }: { stored: Versioned<MailValues> }) {
  const { senders } = useMessages()
  const { fields, fieldHelp: help } = senders
  const [recipient, setRecipient] = useState('')
  const { form, secret, setSecret, despite, setDespite } = useSenderForm({
    kind: 'mail',
    stored,
    pick: pickValues,
    put: (values, password, despite_failures, etag) => {
      const body = { ...buildBody(values, password, recipient), despite_failures }
      return read(api.PUT('/api/v1/deployment/notification-senders/mail', { body, params: { header: expect(etag) } }))
    },
  })
  const { values, set } = form
  const isNew = stored.etag === NOT_STORED
  const asks = values.user !== '' && (isNew || goesElsewhere(stored, values))
  return (
    <TrialForm
      label={senders.kinds.mail}
      form={form}
      hasMore={secret !== ''}
      onTry={() =>
        read(api.POST('/api/v1/deployment/notification-senders/mail/test', { body: buildBody(values, secret || null, recipient) }))
      }
      despite={despite}
      onDespite={setDespite}
      fieldLabel={(name) => fields[name]}
    >
      <Field name="server" label={fields.server} value={values.server} onChange={(text) => set('server', text)} isRequired maxLength={253} />
      <Field
        name="port"
        label={fields.port}
        value={values.port === null ? '' : String(values.port)}
        onChange={(text) => set('port', text === '' ? null : Number(text))}
        inputMode="numeric"
        pattern="[0-9]{1,5}"
        isRequired
      />
      <SelectField
        name="security"
        label={fields.security}
        value={SECURITIES.find((one) => one === values.security) ?? 'starttls'}
        onChange={(security) => set('security', security)}
        choices={SECURITIES.map((value) => ({ value, label: senders.securities[value] }))}
      />
      <Field
        name="user"
        label={fields.user}
        help={help.user}
        value={values.user}
        onChange={(text) => set('user', text)}
        maxLength={320}
        autoComplete="username"
      />
      {/* Always there: a password manager takes one that comes later for a form without a user. */}
      <Field
        name="password"
        type="password"
        label={fields.password}
        help={values.user === '' ? help.passwordNoUser : isNew ? help.passwordNew : help.stored}
        value={secret}
        onChange={setSecret}
        isRequired={asks}
        isDisabled={values.user === ''}
        maxLength={2000}
        autoComplete="new-password"
      />
      <Field
        name="sender"
        label={fields.sender}
        help={help.sender}
        value={values.sender}
        onChange={(text) => set('sender', text)}
        isRequired
        maxLength={320}
      />
      <Field
        name="recipient"
        type="email"
        label={fields.recipient}
        help={help.recipient}
        value={recipient}
        onChange={setRecipient}
        maxLength={320}
      />
    </TrialForm>
  )
}

/** The stored password is sent nowhere else: it is asked for again when one of these changes. */
function goesElsewhere(before: MailValues, after: MailValues): boolean {
  return (['server', 'port', 'security', 'user'] as const).some((name) => before[name] !== after[name])
}

function buildBody(values: MailValues, password: string | null, recipient: string): Omit<SchemaMailSenderUpsert, 'despite_failures'> {
  return {
    server: values.server.trim(),
    port: values.port ?? 0,
    security: SECURITIES.find((one) => one === values.security) ?? 'starttls',
    user: values.user.trim(),
    sender: values.sender.trim(),
    password: values.user === '' ? null : password,
    recipient: recipient.trim() || null,
  }
}
