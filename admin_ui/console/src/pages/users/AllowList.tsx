import { useQueryClient } from '@tanstack/react-query'
import { Trash2, X } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Dialog, Form, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { api, read } from '../../api/client.ts'
import { Button, IconButton } from '../../components/Button.tsx'
import { Field } from '../../components/Field.tsx'
import { ItemTools } from '../../components/ItemTools.tsx'
import overlay from '../../components/Overlay.module.css'
import { PagedItems } from '../../components/PagedItems.tsx'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { useItemSearch } from '../../components/useItemSearch.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { useMessages } from '../../messages/index.tsx'

type AllowOrder = 'entry' | '-entry' | 'created_at' | '-created_at'

/** The addresses and domains that may sign in. */
export function AllowList({ onClose }: { onClose: () => void }) {
  const { common, problems, users } = useMessages()
  const queries = useQueryClient()
  const { busy, problem, run } = useAction()
  const online = useOnline()
  const [text, setText] = useState('')
  const search = useItemSearch<AllowOrder>('entry')
  const list = usePagedList(['allow-list', search.query], (cursor) =>
    read(api.GET('/api/v1/allow-list', { params: { query: { ...search.query, limit: 200, ...(cursor && { cursor }) } } })),
  )
  const change = (work: () => Promise<unknown>) =>
    run(async () => {
      await work()
      await queries.invalidateQueries({ queryKey: ['allow-list'] })
    })
  const at = (entry: string) => ({ params: { path: { entry } } })
  const remove = (entry: string) =>
    change(async () => {
      await read(api.DELETE('/api/v1/allow-list/{entry}', at(entry)))
      showToast(users.allow.removed(entry), async () => {
        await read(api.PUT('/api/v1/allow-list/{entry}', at(entry)))
        await queries.invalidateQueries({ queryKey: ['allow-list'] })
      })
    })
  const add = (event: FormEvent) => {
    event.preventDefault()
    void change(async () => {
      await read(api.PUT('/api/v1/allow-list/{entry}', at(text.trim())))
      setText('')
    })
  }
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={onClose} className={`${overlay.shade} ${overlay.center}`} data-overlay>
      <Modal className={overlay.modal!}>
        <Dialog className={`${overlay.dialog} ${overlay.form}`}>
          <div className={overlay.head}>
            <Heading slot="title">{users.allow.title}</Heading>
            <IconButton icon={X} label={common.close} onPress={onClose} />
          </div>
          <p>{users.allow.text}</p>
          <Form onSubmit={add} className={overlay.line!}>
            <Field label={users.allow.entry} value={text} onChange={setText} isRequired maxLength={320} placeholder="@example.com" />
            <Button type="submit" isPending={busy} isDisabled={!online}>
              {users.allow.add}
            </Button>
          </Form>
          <ItemTools
            label={users.allow.search}
            search={search}
            list={list}
            orders={[
              ['entry', common.orders.name],
              ['-entry', common.orders.nameDown],
              ['-created_at', common.orders.newest],
              ['created_at', common.orders.oldest],
            ]}
          />
          {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
          <PagedItems
            label={users.allow.title}
            list={list}
            itemKey={({ entry }) => entry}
            title={({ entry }) => entry}
            detail={({ created_at }) => <Time at={created_at} />}
            end={({ entry }) => (
              <IconButton icon={Trash2} label={users.allow.remove(entry)} isDisabled={!online} onPress={() => void remove(entry)} />
            )}
            empty={search.words ? common.nothingMatches(search.words) : users.allow.empty}
          />
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
