import { useNavigate } from '@tanstack/react-router'
import { Search } from 'lucide-react'
import { useState } from 'react'
import {
  Autocomplete,
  Dialog,
  Input,
  Label,
  Menu,
  MenuItem,
  Modal,
  ModalOverlay,
  TextField,
  useFilter,
} from 'react-aria-components'
import { isLinked, useMe } from '../api/queries.ts'
import { signOut } from '../api/session.ts'
import menu from '../components/Menu.module.css'
import overlay from '../components/Overlay.module.css'
import { type Language, useLanguage } from '../messages/index.tsx'
import styles from './CommandPalette.module.css'
import { type Command, listCommands } from './commands.tsx'
import { PAGES } from './pages.ts'
import { setTheme, type Theme } from './settings.ts'

interface PaletteProps {
  onClose: () => void
  onShortcuts: () => void
}

/** Everything that can be done from the keyboard, found by a few letters. */
export function CommandPalette({ onClose, onShortcuts }: PaletteProps) {
  const { shell } = useLanguage().messages
  const { contains } = useFilter({ sensitivity: 'base' })
  const commands = useCommands(onShortcuts)
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={onClose} className={`${overlay.shade} ${overlay.center}`} data-overlay>
      <Modal className={overlay.modal!}>
        <Dialog aria-label={shell.paletteLabel} className={overlay.dialog!}>
          <Autocomplete filter={contains}>
            <TextField autoFocus className={styles.field!}>
              <Label className="visually-hidden">{shell.palette}</Label>
              <Search size={16} aria-hidden />
              <Input className={styles.input!} placeholder={shell.palette} />
            </TextField>
            {/* The menu has a virtual focus alone, so what scrolls is reached by Tab. */}
            <div className={styles.list} tabIndex={0}>
              <Menu
                aria-label={shell.paletteLabel}
                className={menu.menu!}
                items={commands}
                onAction={(id) => {
                  onClose()
                  commands.find((command) => command.id === id)?.run()
                }}
                renderEmptyState={() => <p className={styles.empty}>{shell.paletteEmpty}</p>}
              >
                {(command) => <MenuItem className={menu.item!}>{command.label}</MenuItem>}
              </Menu>
            </div>
          </Autocomplete>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

function useCommands(onShortcuts: () => void): readonly Command[] {
  const me = useMe()
  const navigate = useNavigate()
  const { messages, setLanguage } = useLanguage()
  const { shell } = messages
  const [ofPages] = useState(listCommands)
  const pages = PAGES.filter((page) => isLinked(me, page.options.staticData)).map((page) => ({
    id: page.to,
    label: shell.goTo(page.options.staticData?.title?.(messages) ?? page.to),
    run: () => void navigate({ to: page.to }),
  }))
  const themes = (Object.keys(shell.themes) as Theme[]).map((theme) => ({
    id: `theme ${theme}`,
    label: shell.useTheme(shell.themes[theme]),
    run: () => setTheme(theme),
  }))
  const languages = (Object.keys(shell.languages) as Language[]).map((language) => ({
    id: `language ${language}`,
    label: `${shell.language}: ${shell.languages[language]}`,
    run: () => void setLanguage(language),
  }))
  const others: Command[] = [
    { id: 'account', label: shell.accountPage, run: () => location.assign('/account') },
    { id: 'connect', label: shell.connectPage, run: () => location.assign('/connect') },
    { id: 'shortcuts', label: shell.shortcuts, run: onShortcuts },
    { id: 'sign-out', label: shell.signOut, run: () => void signOut() },
  ]
  return [...ofPages, ...pages, ...others, ...themes, ...languages]
}
