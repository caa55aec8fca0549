import { useQueryClient } from '@tanstack/react-query'
import { Trash2, X } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Dialog, Form, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { api, read } from '../../api/client.ts'
import { Button, IconButton } from '../../components/Button.tsx'
import { ItemList } from '../../components/Facts.tsx'
import { Field } from '../../components/Field.tsx'
import { SearchBox } from '../../components/ListTools.tsx'
import overlay from '../../components/Overlay.module.css'
import { ProblemNotice, Skeleton, useOnline } from '../../components/States.tsx'
import { Time } from '../../components/Time.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { usePagedList } from '../../components/usePagedList.ts'
import { useMessages } from '../../messages/index.tsx'

/** The addresses and domains that may sign in. */
export function AllowList({ onClose }: { onClose: () => void }) {
  const { common, problems, users } = useMessages()
  const queries = useQueryClient()
  const { busy, problem, run } = useAction()
  const online = useOnline()
  const [text, setText] = useState('')
  const [words, setWords] = useState('')
  const list = usePagedList(['allow-list', words], (cursor) =>
    read(api.GET('/api/v1/allow-list', { params: { query: { q: words, limit: 200, ...(cursor && { cursor }) } } })),
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
          <SearchBox label={users.allow.search} value={words} onSearch={setWords} />
          {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
          {list.isLoading ? (
            <Skeleton />
          ) : list.error ? (
            <ProblemNotice error={list.error} onRetry={list.retry} />
          ) : (
            <ItemList
              label={users.allow.title}
              items={list.rows}
              itemKey={({ entry }) => entry}
              title={({ entry }) => entry}
              detail={({ created_at }) => <Time at={created_at} />}
              end={({ entry }) => (
                <IconButton
                  icon={Trash2}
                  label={users.allow.remove(entry)}
                  isDisabled={!online}
                  onPress={() => void remove(entry)}
                />
              )}
              empty={words ? common.nothingMatches(words) : users.allow.empty}
            />
          )}
          {list.hasMore && <Button onPress={list.loadMore}>{common.loadMore}</Button>}
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
