import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useId, useRef, useState } from 'react'
import { Problem } from '../../api/problems.ts'
import { FILE_ENDINGS, MAX_FILE_BYTES, uploadDocument } from '../../api/uploads.ts'
import { Checkbox, Field } from '../../components/Field.tsx'
import fields from '../../components/Field.module.css'
import { ModalForm } from '../../components/ModalForm.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useFormat, useMessages } from '../../messages/index.tsx'
import { CollectionField } from './CollectionField.tsx'
import styles from './documents.module.css'

/** As version: the document must not exist. */
const NONE_YET = '0'

/** Sends a file, whose text becomes a document of the collection that is chosen. */
export function UploadForm({ onClose }: { onClose: () => void }) {
  const { documents } = useMessages()
  const { form } = documents
  const queries = useQueryClient()
  const [file, setFile] = useState<File | null>(null)
  const [sent, setSent] = useState<number | null>(null)
  const leaving = useRef(new AbortController())
  useEffect(() => {
    const controller = new AbortController()
    leaving.current = controller
    return () => controller.abort()
  }, [])
  const upload = async (data: FormData) => {
    if (!file) return
    if (file.size > MAX_FILE_BYTES) throw new Problem(413, { code: 'too_large' })
    setSent(0)
    try {
      const stored = await uploadDocument(buildForm(file, data), setSent, leaving.current.signal)
      await queries.invalidateQueries({ queryKey: ['documents'] })
      showToast(documents.stored(stored.file_path))
      onClose()
    } finally {
      setSent(null)
    }
  }
  return (
    <ModalForm title={documents.upload} submit={form.submit} onClose={onClose} onSubmit={upload}>
      <FileField onChoose={setFile} />
      <CollectionField help={form.collectionHelp} />
      <Field name="path" label={form.path} help={form.pathHelp} placeholder={file?.name ?? ''} maxLength={500} />
      <Field name="title" label={form.title} help={form.titleHelp} maxLength={500} />
      <Field name="tags" label={form.tags} help={form.tagsHelp} maxLength={1_000} />
      <Checkbox name="replace">{form.replace}</Checkbox>
      {sent !== null && <Progress share={sent} />}
    </ModalForm>
  )
}

function FileField({ onChoose }: { onChoose: (file: File | null) => void }) {
  const { form } = useMessages().documents
  const id = useId()
  return (
    <div className={fields.field}>
      <label htmlFor={id} className={fields.label}>
        {form.file}
      </label>
      <input
        id={id}
        type="file"
        required
        accept={FILE_ENDINGS}
        aria-describedby={`${id}-help`}
        className={styles.file}
        onChange={(event) => onChoose(event.currentTarget.files?.[0] ?? null)}
      />
      <p id={`${id}-help`} className={fields.help}>
        {form.fileHelp}
      </p>
    </div>
  )
}

/** How much was sent, and then that the file is being read. */
function Progress({ share }: { share: number }) {
  const { documents } = useMessages()
  const format = useFormat()
  const text = share < 1 ? documents.sending(format.percent(share)) : documents.reading
  return (
    <div className={styles.progress}>
      <progress max={1} {...(share < 1 && { value: share })} aria-label={documents.progress} />
      <p role="status">{text}</p>
    </div>
  )
}

function buildForm(file: File, data: FormData): FormData {
  const form = new FormData()
  for (const name of ['path', 'title', 'collection']) {
    const value = String(data.get(name) ?? '').trim()
    if (value) form.append(name, value)
  }
  const tags = String(data.get('tags') ?? '').split(/[,、，]/)
  for (const tag of tags) if (tag.trim()) form.append('tags', tag.trim())
  if (!data.has('replace')) form.append('expected_version', NONE_YET)
  form.append('file', file)
  return form
}
