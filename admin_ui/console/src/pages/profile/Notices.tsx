import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, read } from '../../api/client.ts'
import { type Problem, toProblem } from '../../api/problems.ts'
import type { SchemaNotificationPreferencesView } from '../../api/schema.d.ts'
import { Card, Loaded } from '../../components/Card.tsx'
import { Checkbox } from '../../components/Field.tsx'
import { ProblemNotice, useOnline } from '../../components/States.tsx'
import { useMessages } from '../../messages/index.tsx'
import styles from './profile.module.css'

type Choice = SchemaNotificationPreferencesView['alerts'][number]

const KEY = ['notification-preferences', 'own']

/** Which mails the person wants. A tick counts at once and is taken back when the API refuses it. */
export function Notices() {
  const { problems, profile } = useMessages()
  const queries = useQueryClient()
  const online = useOnline()
  const [problem, setProblem] = useState<Problem | null>(null)
  const query = useQuery({ queryKey: KEY, queryFn: () => read(api.GET('/api/v1/notification-preferences', {})) })
  const show = (changed: Choice) =>
    queries.setQueryData<SchemaNotificationPreferencesView>(KEY, (before) =>
      before && { alerts: before.alerts.map((one) => (one.alert === changed.alert ? changed : one)) },
    )
  const change = async (choice: Choice, mail: boolean) => {
    setProblem(null)
    show({ ...choice, mail })
    try {
      await read(api.PUT('/api/v1/notification-preferences', { body: { alert: choice.alert, mail } }))
    } catch (error) {
      show(choice)
      setProblem(toProblem(error))
    }
  }
  return (
    <Card title={profile.notices} help={profile.noticesHelp}>
      <Loaded query={query}>
        {({ alerts }) => (
          <ul className={styles.notices}>
            {alerts.map((choice) => (
              <li key={choice.alert}>
                <Checkbox isSelected={choice.mail} isDisabled={!online} onChange={(mail) => void change(choice, mail)}>
                  {profile.alerts[choice.alert]}
                </Checkbox>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {problem && <ProblemNotice error={problem} title={problems.actionTitle} />}
    </Card>
  )
}
