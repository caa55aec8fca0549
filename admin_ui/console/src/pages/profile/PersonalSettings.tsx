import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { api, read } from '../../api/client.ts'
import { meQuery, useMe } from '../../api/queries.ts'
import type { SchemaCurrentUserView, SchemaProfileChange } from '../../api/schema.d.ts'
import { isSame } from '../../api/versions.ts'
import { writeSetting } from '../../app/settings.ts'
import { setSingleKeys } from '../../app/shortcuts.tsx'
import { Button } from '../../components/Button.tsx'
import { Card } from '../../components/Card.tsx'
import { Checkbox, Field, SelectField } from '../../components/Field.tsx'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { showToast } from '../../components/toasts.tsx'
import { useAction } from '../../components/useAction.ts'
import { setTimeZone } from '../../messages/format.ts'
import { type Language, useLanguage } from '../../messages/index.tsx'
import styles from './profile.module.css'
import { TimeZoneField } from './TimeZoneField.tsx'

const BROWSER = 'browser'
const LANGUAGES = [BROWSER, 'en', 'ja'] as const

/** What of a person the form has. */
type Profile = Pick<SchemaCurrentUserView, 'name' | 'language' | 'time_zone' | 'single_key_shortcuts'>

function pickProfile({ name, language, time_zone, single_key_shortcuts }: Profile): Profile {
  return { name, language, time_zone, single_key_shortcuts }
}

/** Name, language, time zone and shortcuts of the person. */
export function PersonalSettings() {
  const me = useMe()
  const { messages } = useLanguage()
  const { common, problems, profile, shell } = messages
  const online = useOnline()
  const { busy, problem, run } = useAction()
  const save = useSave()
  const [edits, setEdits] = useState<Partial<Profile>>({})
  const values = { ...pickProfile(me), ...edits }
  const set = (edit: Partial<Profile>) => setEdits({ ...edits, ...edit })
  const isChanged = !isSame(values, pickProfile(me))
  const submit = () =>
    void run(async () => {
      await save(edits)
      setEdits({})
    })
  return (
    <Card title={profile.you} help={profile.youHelp}>
      <Form
        className={styles.form!}
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
        {...(problem && { validationErrors: problem.fields })}
      >
        <Field
          label={profile.name}
          name="name"
          value={values.name}
          onChange={(name) => set({ name })}
          maxLength={200}
          autoComplete="name"
        />
        <SelectField
          label={shell.language}
          value={values.language ?? BROWSER}
          onChange={(language) => set({ language: language === BROWSER ? null : language })}
          choices={LANGUAGES.map((value) => ({
            value,
            label: value === BROWSER ? profile.asBrowser : shell.languages[value],
          }))}
        />
        <TimeZoneField value={values.time_zone} onChange={(time_zone) => set({ time_zone })} />
        <div>
          <Checkbox isSelected={values.single_key_shortcuts} onChange={(on) => set({ single_key_shortcuts: on })}>
            {shell.shortcutsOn}
          </Checkbox>
          <p className={styles.help}>{shell.shortcutsHelp}</p>
        </div>
        {problem && Object.keys(problem.fields).length === 0 && (
          <ProblemNotice error={problem} title={problems.actionTitle} />
        )}
        <div>
          <Button kind="primary" type="submit" isPending={busy} isDisabled={!isChanged || !online}>
            {common.save}
          </Button>
        </div>
      </Form>
    </Card>
  )
}

/** Saves the profile, and lets this page go by it at once. */
function useSave() {
  const queries = useQueryClient()
  const { language, messages, setLanguage } = useLanguage()
  return async (change: SchemaProfileChange) => {
    const me = await read(api.PATCH('/api/v1/me', { body: change }))
    queries.setQueryData(meQuery.queryKey, me)
    setTimeZone(me.time_zone ?? undefined)
    setSingleKeys(me.single_key_shortcuts)
    if (me.language === null) writeSetting('language', null)
    const next = me.language ?? readBrowserLanguage()
    if (me.language === null && next !== language) location.reload()
    else if (me.language !== null && next !== language) await setLanguage(next)
    showToast(messages.common.saved)
  }
}

/** As public/first.js chooses. */
function readBrowserLanguage(): Language {
  return navigator.languages.find((tag) => /^(?:en|ja)\b/i.test(tag))?.startsWith('ja') ? 'ja' : 'en'
}
