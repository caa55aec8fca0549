import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { Dialog, Heading, Modal, ModalOverlay, Tab, TabList, TabPanel, Tabs } from 'react-aria-components'
import { useMessages } from '../messages/index.tsx'
import { IconButton } from './Button.tsx'
import styles from './Overlay.module.css'
import { useSelectedInSight } from './useSelectedInSight.ts'

interface DetailPanelProps {
  title: string
  subtitle?: string
  onClose: () => void
  /** Buttons beside the title. */
  actions?: ReactNode
  /** For a matrix: 920 px instead of 560. */
  wide?: boolean
  /** Tabs keep their own distance from the edge. */
  padded?: boolean
  children: ReactNode
}

/** A panel from the right over the list; the query string says that it is open. Esc and Back close it. */
export function DetailPanel({ title, subtitle, onClose, actions, wide, padded, children }: DetailPanelProps) {
  const { common } = useMessages()
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={onClose} className={styles.clear!} data-overlay>
      <Modal className={wide ? `${styles.panel} ${styles.wipe}` : styles.panel!}>
        <Dialog className={styles.panelDialog!}>
          <div className={styles.panelHead}>
            <div className={styles.panelTitle}>
              <Heading slot="title" level={2} dir="auto">
                {title}
              </Heading>
              {subtitle && <p dir="auto">{subtitle}</p>}
            </div>
            {actions}
            <IconButton icon={X} label={common.close} onPress={onClose} />
          </div>
          <div className={padded ? `${styles.panelBody} ${styles.padded}` : styles.panelBody}>{children}</div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

export interface PanelTab<Key extends string> {
  key: Key
  label: string
  content: () => ReactNode
}

interface PanelTabsProps<Key extends string> {
  label: string
  tabs: readonly PanelTab<Key>[]
  selected: Key
  onSelect: (key: Key) => void
}

/** Tabs whose selection the query string holds; only the selected one's content is made. */
export function PanelTabs<Key extends string>({ label, tabs, selected, onSelect }: PanelTabsProps<Key>) {
  const list = useSelectedInSight<HTMLDivElement>('[data-selected]', selected)
  return (
    <Tabs className={styles.tabs!} selectedKey={selected} onSelectionChange={(key) => onSelect(key as Key)}>
      <TabList ref={list} aria-label={label} className={styles.tabList!} items={tabs.map((tab) => ({ ...tab, id: tab.key }))}>
        {(tab) => <Tab className={styles.tab!}>{tab.label}</Tab>}
      </TabList>
      {tabs.map((tab) => (
        <TabPanel key={tab.key} id={tab.key} className={styles.tabPanel!}>
          {tab.content()}
        </TabPanel>
      ))}
    </Tabs>
  )
}
