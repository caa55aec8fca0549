import { X } from 'lucide-react'
import { useState } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { keepInProfile } from '../api/profile.ts'
import { IconButton } from '../components/Button.tsx'
import { Checkbox } from '../components/Field.tsx'
import overlay from '../components/Overlay.module.css'
import { useMessages } from '../messages/index.tsx'
import styles from './ShortcutList.module.css'
import { areSingleKeysOn, setSingleKeys, useShortcuts } from './shortcuts.tsx'

const NAMES: Record<string, string> = { 'mod+': 'Ctrl ' }

/** What `?` shows. */
export function ShortcutList({ onClose }: { onClose: () => void }) {
  const { common, shell } = useMessages()
  const shortcuts = useShortcuts()
  const [on, setOn] = useState(areSingleKeysOn)
  const fixed = [
    { keys: 'Enter', label: shell.keys.open },
    { keys: 'Esc', label: shell.keys.close },
    { keys: 'mod+Enter', label: shell.keys.submit },
  ]
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={onClose} className={`${overlay.shade} ${overlay.center}`} data-overlay>
      <Modal className={overlay.modal!}>
        <Dialog className={`${overlay.dialog} ${overlay.form}`}>
          <div className={overlay.head}>
            <Heading slot="title">{shell.shortcuts}</Heading>
            <IconButton icon={X} label={common.close} onPress={onClose} />
          </div>
          <dl className={styles.list}>
            {[...shortcuts, ...fixed].map(({ keys, label }) => (
              <div key={keys}>
                <dt>{label}</dt>
                <dd>
                  <kbd>{nameKeys(keys, shell.then)}</kbd>
                </dd>
              </div>
            ))}
          </dl>
          <div>
            <Checkbox
              isSelected={on}
              onChange={(next) => {
                setSingleKeys(next)
                setOn(next)
                void keepInProfile({ single_key_shortcuts: next })
              }}
            >
              {shell.shortcutsOn}
            </Checkbox>
            <p className={styles.help}>{shell.shortcutsHelp}</p>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

function nameKeys(keys: string, then: string): string {
  const parts = keys.split(' ').map((key) => {
    const [modifier, plain] = key.startsWith('mod+') ? [NAMES['mod+']!, key.slice(4)] : ['', key]
    return modifier + (plain.length === 1 ? plain.toUpperCase() : plain)
  })
  return parts.join(` ${then} `)
}
