import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import type { SchemaMandateView } from '../../api/schema.d.ts'
import { Button } from '../../components/Button.tsx'
import { Card } from '../../components/Card.tsx'
import { ConfirmDestroy } from '../../components/ConfirmDestroy.tsx'
import { MandateDetail, useMandateName } from '../../components/MandateDetail.tsx'
import { PagedItems } from '../../components/PagedItems.tsx'
import { showToast } from '../../components/toasts.tsx'
import { usePagedList } from '../../components/usePagedList.ts'
import { useMessages } from '../../messages/index.tsx'

const PAGE = 50

/** What uses the person's accounts while they are away. */
export function AbsentWork() {
  const { mandates } = useMessages()
  const queries = useQueryClient()
  const nameOf = useMandateName()
  const [asked, setAsked] = useState<SchemaMandateView | null>(null)
  const list = usePagedList(['mandates', 'own', 'list'], (cursor) =>
    read(api.GET('/api/v1/mandates', { params: { query: { limit: PAGE, ...(cursor && { cursor }) } } })),
  )
  const end = async (mandate: SchemaMandateView) => {
    await read(api.DELETE('/api/v1/mandates/{mandate_id}', { params: { path: { mandate_id: mandate.id } } }))
    await queries.invalidateQueries({ queryKey: ['mandates'] })
    showToast(mandates.ended(nameOf(mandate)))
    setAsked(null)
  }
  return (
    <Card title={mandates.title} help={mandates.help}>
      <PagedItems
        label={mandates.title}
        list={list}
        itemKey={(mandate) => mandate.id}
        title={nameOf}
        detail={(mandate) => <MandateDetail mandate={mandate} ownPage="/account#mandates" />}
        end={(mandate) => <Button onPress={() => setAsked(mandate)}>{mandates.end}</Button>}
        empty={mandates.none}
      />
      {asked && (
        <ConfirmDestroy
          title={mandates.endTitle(nameOf(asked))}
          confirm={mandates.end}
          typed={nameOf(asked)}
          onConfirm={() => end(asked)}
          onClose={() => setAsked(null)}
        >
          <p>{mandates.endText}</p>
        </ConfirmDestroy>
      )}
    </Card>
  )
}
