import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaRemovalView, SchemaTenantView } from '../../api/schema.d.ts'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { RemainingAccounts } from '../../components/RemainingAccounts.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useMessages } from '../../messages/index.tsx'
import { changeTenant } from './queries.ts'
import { TenantContents } from './TenantContents.tsx'

interface EndTenantProps {
  tenant: SchemaTenantView
  onClose: () => void
}

/** Asks before a company loses access for a while; undone by a second request. */
export function SuspendTenant({ tenant, onClose }: EndTenantProps) {
  const { tenants } = useMessages()
  const queries = useQueryClient()
  const suspend = async () => {
    await changeTenant(queries, tenant.id, { status: 'suspended' })
    onClose()
    showToast(tenants.saved(tenant.slug), () => changeTenant(queries, tenant.id, { status: 'active' }))
  }
  return (
    <ConfirmDestroy title={tenants.suspendTitle(tenant.slug)} confirm={tenants.suspend} typed={null} onConfirm={suspend} onClose={onClose}>
      <p>{tenants.suspendText}</p>
      <TenantContents tenantId={tenant.id} />
    </ConfirmDestroy>
  )
}

/** Removes a tenant: says beforehand what ends, and afterwards what could not be ended at a service. */
export function RemoveTenant({ tenant, onClose, onRemoved }: EndTenantProps & { onRemoved: () => void }) {
  const { tenants } = useMessages()
  const queries = useQueryClient()
  const [removal, setRemoval] = useState<SchemaRemovalView | null>(null)
  const { id, slug } = tenant
  const finish = async () => {
    onRemoved()
    queries.removeQueries({ queryKey: ['tenants', id] })
    await queries.invalidateQueries({ queryKey: ['tenants', 'list'] })
  }
  const remove = async () => {
    const params = { path: { tenant_id: id }, query: { confirm: slug } }
    const done = await read(api.DELETE('/api/v1/tenants/{tenant_id}', { params }))
    showToast(tenants.removed(slug))
    if (done.remaining_accounts.length > 0) setRemoval(done)
    else await finish()
  }
  if (removal) return <RemainingAccounts removal={removal} onClose={() => void finish()} />
  return (
    <ConfirmDestroy title={tenants.removeTitle(slug)} confirm={tenants.remove} typed={slug} onConfirm={remove} onClose={onClose}>
      <p>{tenants.removeText}</p>
      <TenantContents tenantId={id} />
    </ConfirmDestroy>
  )
}
