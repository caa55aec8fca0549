import { useNavigate } from '@tanstack/react-router'
import { CircleUser } from 'lucide-react'
import { Header, Menu, MenuItem, MenuSection, MenuTrigger, Popover, Separator } from 'react-aria-components'
import { useMe } from '../api/queries.ts'
import { signOut } from '../api/session.ts'
import { IconButton } from '../components/Button.tsx'
import styles from '../components/Menu.module.css'
import { type Language, useLanguage } from '../messages/index.tsx'
import { readTheme, setTheme, type Theme } from './settings.ts'
import { useState } from 'react'

const THEMES: readonly Theme[] = ['system', 'light', 'dark']
const LANGUAGES: readonly Language[] = ['en', 'ja']

/** The person's own menu in the bar. */
export function AccountMenu({ onShortcuts }: { onShortcuts: () => void }) {
  const me = useMe()
  const { language, messages, setLanguage } = useLanguage()
  const { shell } = messages
  const navigate = useNavigate()
  const [theme, setShown] = useState(readTheme)
  const chooseTheme = (next: Theme) => {
    setTheme(next)
    setShown(next)
  }
  return (
    <MenuTrigger>
      <IconButton icon={CircleUser} label={shell.account} />
      <Popover className={styles.popover!} placement="bottom end">
        <Menu className={styles.menu!}>
          <MenuSection aria-label={shell.account}>
            <Header className={styles.person!}>{shell.signedInAs(me.email)}</Header>
            <MenuItem className={styles.item!} onAction={() => void navigate({ to: '/profile' })}>
              {messages.profile.title}
            </MenuItem>
            <MenuItem className={styles.item!} href="/account" target="_self">
              {shell.accountPage}
            </MenuItem>
            <MenuItem className={styles.item!} href="/connect" target="_self">
              {shell.connectPage}
            </MenuItem>
          </MenuSection>
          <Separator className={styles.line!} />
          <MenuSection
            selectionMode="single"
            disallowEmptySelection
            selectedKeys={[theme]}
            onSelectionChange={(keys) => chooseTheme([...keys][0] as Theme)}
          >
            <Header className={styles.header!}>{shell.theme}</Header>
            {THEMES.map((name) => (
              <MenuItem key={name} id={name} className={styles.item!}>
                {shell.themes[name]}
              </MenuItem>
            ))}
          </MenuSection>
          <MenuSection
            selectionMode="single"
            disallowEmptySelection
            selectedKeys={[language]}
            onSelectionChange={(keys) => void setLanguage([...keys][0] as Language)}
          >
            <Header className={styles.header!}>{shell.language}</Header>
            {LANGUAGES.map((name) => (
              <MenuItem key={name} id={name} className={styles.item!}>
                <span lang={name}>{shell.languages[name]}</span>
              </MenuItem>
            ))}
          </MenuSection>
          <Separator className={styles.line!} />
          <MenuItem className={styles.item!} onAction={onShortcuts}>
            {shell.shortcuts}
          </MenuItem>
          <MenuItem className={styles.item!} onAction={() => void signOut()}>
            {shell.signOut}
          </MenuItem>
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}
