import { useQueryClient } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'
import { Field } from '../../components/Field.tsx'
import { ModalForm } from '../../components/ModalForm.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'

/** Trusts an issuer from now on, or gives a trusted one another address of its keys. */
export function TrustForm({ onClose }: { onClose: () => void }) {
  const { oauthClients } = useMessages()
  const queries = useQueryClient()
  const trust = async (data: FormData) => {
    const body = { issuer: String(data.get('issuer')).trim(), jwks_uri: String(data.get('jwks_uri')).trim() || null }
    const { issuer } = await read(api.PUT('/api/v1/oauth/issuers', { body }))
    onClose()
    showToast(oauthClients.trusted(issuer))
    await queries.invalidateQueries({ queryKey: ['issuers'] })
  }
  return (
    <ModalForm title={oauthClients.trust} submit={oauthClients.trust} onClose={onClose} onSubmit={trust}>
      <Field name="issuer" label={oauthClients.issuer} help={oauthClients.issuerHelp} isRequired autoFocus maxLength={500} />
      <Field name="jwks_uri" label={oauthClients.jwks} help={oauthClients.jwksHelp} maxLength={1000} />
    </ModalForm>
  )
}
