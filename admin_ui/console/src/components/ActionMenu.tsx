import { Ellipsis } from 'lucide-react'
import { Menu, MenuItem, MenuTrigger, Popover } from 'react-aria-components'
import { useMessages } from '../messages/index.tsx'
import { IconButton } from './Button.tsx'
import styles from './Menu.module.css'

export interface Action {
  id: string
  label: string
  danger?: boolean
  disabled?: boolean
  run: () => void
}

/** What can be done besides the main button. */
export function ActionMenu({ actions, label }: { actions: readonly Action[]; label?: string }) {
  const { common } = useMessages()
  return (
    <MenuTrigger>
      <IconButton icon={Ellipsis} label={label ?? common.more} />
      <Popover className={styles.popover!} placement="bottom end">
        <Menu
          className={styles.menu!}
          items={actions}
          disabledKeys={actions.filter((action) => action.disabled).map((action) => action.id)}
          onAction={(id) => actions.find((action) => action.id === id)?.run()}
        >
          {(action) => (
            <MenuItem className={styles.item!} data-danger={action.danger || undefined}>
              {action.label}
            </MenuItem>
          )}
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}
