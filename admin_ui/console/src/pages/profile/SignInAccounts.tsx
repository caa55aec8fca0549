import { Card } from '../../components/Card.tsx'
import { Identities } from '../../components/Identities.tsx'
import { useMessages } from '../../messages/index.tsx'
import styles from './profile.module.css'

/** The person's accounts at identity providers. They are linked on a page without script, which signs in there. */
export function SignInAccounts() {
  const { identities } = useMessages()
  const action = (
    <a className={styles.link} href="/account">
      {identities.link}
    </a>
  )
  return (
    <Card title={identities.title} help={identities.help} action={action}>
      <Identities />
    </Card>
  )
}
