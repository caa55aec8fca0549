import { LoaderCircle, type LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button as AriaButton, type ButtonProps as AriaButtonProps, Tooltip, TooltipTrigger } from 'react-aria-components'
import styles from './Button.module.css'

export interface ButtonProps extends Omit<AriaButtonProps, 'className' | 'style' | 'children' | 'isPending'> {
  children: ReactNode
  /** What it does is running: it keeps the focus and does nothing more. */
  isPending?: boolean
  /** `primary` at most once on a page or in a dialog; `danger` for what destroys. */
  kind?: 'plain' | 'primary' | 'danger' | 'quiet'
  icon?: LucideIcon
}

// React Aria's own isPending announces an element that is gone a moment later, which axe finds.
export function Button({ children, kind = 'plain', icon: Icon, isPending = false, ...props }: ButtonProps) {
  const { onPress, ...others } = props
  const quiet = isPending ? { type: 'button' as const } : onPress && { onPress }
  return (
    <AriaButton {...others} {...quiet} className={styles.button!} data-kind={kind} data-pending={isPending || undefined}>
      {isPending ? <LoaderCircle size={16} aria-hidden className={styles.spinner} /> : Icon && <Icon size={16} aria-hidden />}
      {children}
    </AriaButton>
  )
}

export interface IconButtonProps extends Omit<ButtonProps, 'children' | 'icon' | 'isPending'> {
  label: string
  icon: LucideIcon
}

/** A button that shows an icon alone; its label is a tooltip too. */
export function IconButton({ label, icon: Icon, kind = 'quiet', ...props }: IconButtonProps) {
  return (
    <TooltipTrigger delay={400}>
      <AriaButton {...props} aria-label={label} className={`${styles.button} ${styles.icon}`} data-kind={kind}>
        <Icon size={16} aria-hidden />
      </AriaButton>
      <Tooltip className={styles.tooltip!} offset={6}>
        {label}
      </Tooltip>
    </TooltipTrigger>
  )
}
