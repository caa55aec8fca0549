import { Link, Outlet, useMatches, useNavigate, useRouter } from '@tanstack/react-router'
import { ListChecks, Menu, Search } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Button, Dialog, DialogTrigger, Modal, ModalOverlay } from 'react-aria-components'
import { hasRight, isLinked, useMe } from '../api/queries.ts'
import { IconButton } from '../components/Button.tsx'
import { OfflineBar } from '../components/States.tsx'
import { ToastRegion } from '../components/toasts.tsx'
import { useMessages } from '../messages/index.tsx'
import { AccountMenu } from './AccountMenu.tsx'
import { CommandPalette } from './CommandPalette.tsx'
import { ForbiddenPage } from './MissingPage.tsx'
import { PAGES } from './pages.ts'
import type { NavigationGroup } from './root.tsx'
import styles from './Shell.module.css'
import { ShortcutList } from './ShortcutList.tsx'
import { useShortcut, useShortcutListener } from './shortcuts.tsx'
import { SignInDialog } from './SignInDialog.tsx'

const GROUPS: readonly NavigationGroup[] = ['work', 'manage', 'operate']

/** What is around every page. */
export function Shell() {
  const { shell } = useMessages()
  const me = useMe()
  const [dialog, setDialog] = useState<'palette' | 'shortcuts' | null>(null)
  const close = () => setDialog(null)
  useShortcutListener()
  useShortcut('mod+k', shell.keys.palette, () => setDialog('palette'))
  useShortcut('?', shell.keys.help, () => setDialog('shortcuts'))
  return (
    <>
      <a href="#content" className={styles.skip}>
        {shell.skip}
      </a>
      <OfflineBar />
      <header className={styles.bar}>
        <NavigationDrawer />
        <Link to="/" className={styles.product}>
          <img src="/console/icon.svg" alt="" width={24} height={24} />
          <span>{shell.product}</span>
        </Link>
        <span className={styles.tenant} dir="auto">
          {me.tenant.name || me.tenant.slug}
        </span>
        <ResumeStart />
        <Button className={styles.palette!} onPress={() => setDialog('palette')} aria-haspopup="dialog">
          <Search size={16} aria-hidden />
          <span>{shell.palette}</span>
          <kbd aria-hidden>{PALETTE_KEYS}</kbd>
        </Button>
        <AccountMenu onShortcuts={() => setDialog('shortcuts')} />
      </header>
      <div className={styles.columns}>
        <nav aria-label={shell.navigation} className={styles.side}>
          <Navigation />
        </nav>
        <Content />
      </div>
      <PageShortcuts />
      {dialog === 'palette' && <CommandPalette onClose={close} onShortcuts={() => setDialog('shortcuts')} />}
      {dialog === 'shortcuts' && <ShortcutList onClose={close} />}
      <SignInDialog />
      <ToastRegion />
    </>
  )
}

/** Back to the guided start, for as long as it is offered. */
function ResumeStart() {
  const { guidedStart } = useMessages()
  const me = useMe()
  if (!me.guided_start || !hasRight(me, 'administer')) return null
  return (
    <Link to="/" search={{ start: 'next' }} className={styles.resume} aria-label={guidedStart.resume}>
      <ListChecks size={16} aria-hidden />
      <span>{guidedStart.resume}</span>
    </Link>
  )
}

const PALETTE_KEYS = /Mac|iP/.test(navigator.platform) ? '⌘K' : 'Ctrl K'

function Content() {
  const main = useRef<HTMLElement>(null)
  const me = useMe()
  const messages = useMessages()
  const router = useRouter()
  const page = useMatches({ select: (matches) => matches.at(-1)?.staticData })
  const title = page?.title?.(messages)
  useEffect(() => {
    document.title = title ? `${title} · ${messages.shell.product}` : messages.shell.product
  }, [title, messages])
  useEffect(
    () =>
      router.subscribe('onRendered', ({ pathChanged, fromLocation }) => {
        // Screen readers say the name of the new page; the first one they read by themselves.
        if (pathChanged && fromLocation) main.current?.querySelector<HTMLElement>('h1')?.focus()
      }),
    [router],
  )
  return (
    <main id="content" ref={main} tabIndex={-1} className={styles.main}>
      {!page?.right || hasRight(me, page.right) ? <Outlet /> : <ForbiddenPage right={page.right} />}
    </main>
  )
}

/** The pages that this person may use, as of `/api/v1/me`. */
function Navigation({ onGo }: { onGo?: () => void }) {
  const messages = useMessages()
  const me = useMe()
  return GROUPS.map((group) => {
    const pages = PAGES.filter(({ options }) => options.staticData?.group === group && isLinked(me, options.staticData))
    if (pages.length === 0) return null
    return (
      <section key={group} className={styles.group}>
        <h2>{messages.shell.groups[group]}</h2>
        <ul>
          {pages.map((page) => {
            const { icon: Icon, title } = page.options.staticData!
            return (
              <li key={page.to}>
                <Link
                  to={page.to}
                  className={styles.link}
                  activeOptions={{ exact: page.to === '/', includeSearch: false }}
                  activeProps={{ 'aria-current': 'page' }}
                  {...(onGo && { onClick: onGo })}
                >
                  {Icon && <Icon size={16} aria-hidden />}
                  {title?.(messages)}
                </Link>
              </li>
            )
          })}
        </ul>
      </section>
    )
  })
}

/** The navigation of narrow screens. */
function NavigationDrawer() {
  const { shell } = useMessages()
  return (
    <div className={styles.drawerButton}>
      <DialogTrigger>
        <IconButton icon={Menu} label={shell.openNavigation} />
        <ModalOverlay isDismissable className={styles.shade!} data-overlay>
          <Modal className={styles.drawer!}>
            <Dialog aria-label={shell.navigation} className={styles.drawerDialog!}>
              {({ close }) => <Navigation onGo={close} />}
            </Dialog>
          </Modal>
        </ModalOverlay>
      </DialogTrigger>
    </div>
  )
}

function PageShortcuts() {
  const me = useMe()
  return PAGES.filter(({ options }) => options.staticData?.key && isLinked(me, options.staticData)).map((page) => (
    <PageShortcut key={page.to} page={page} />
  ))
}

function PageShortcut({ page }: { page: (typeof PAGES)[number] }) {
  const messages = useMessages()
  const navigate = useNavigate()
  const { key, title } = page.options.staticData!
  useShortcut(`g ${key!.toLowerCase()}`, messages.shell.goTo(title?.(messages) ?? ''), () => void navigate({ to: page.to }))
  return null
}
