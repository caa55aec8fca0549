import { PageHead } from '../../components/ListTools.tsx'
import { useMe } from '../../api/queries.ts'
import { useMessages } from '../../messages/index.tsx'
import { AbsentWork } from './AbsentWork.tsx'
import { Applications } from './Applications.tsx'
import { Browsers } from './Browsers.tsx'
import { Notices } from './Notices.tsx'
import { PersonalSettings } from './PersonalSettings.tsx'
import styles from './profile.module.css'
import { SignInAccounts } from './SignInAccounts.tsx'
import { Tokens } from './Tokens.tsx'

/** Somebody's own settings, and every way in that is theirs: browsers, applications, tokens, and what works in their absence. */
export function ProfilePage() {
  const { profile } = useMessages()
  const me = useMe()
  return (
    <>
      <PageHead title={profile.title} />
      <p className={styles.email}>{me.email}</p>
      <PersonalSettings />
      <Browsers />
      <SignInAccounts />
      <Applications />
      <AbsentWork />
      <Tokens />
      <Notices />
    </>
  )
}
