import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button as AriaButton, type ButtonProps as AriaButtonProps, Tooltip, TooltipTrigger } from 'react-aria-components'
import styles from './Button.module.css'

export interface ButtonProps extends Omit<AriaButtonProps, 'className' | 'style' | 'children'> {
  children: ReactNode
  /** `primary` at most once on a page or in a dialog; `danger` for what destroys. */
  kind?: 'plain' | 'primary' | 'danger' | 'quiet'
  icon?: LucideIcon
}

export function Button({ children, kind = 'plain', icon: Icon, ...props }: ButtonProps) {
  return (
    <AriaButton {...props} className={styles.button!} data-kind={kind}>
      {Icon && <Icon size={16} aria-hidden />}
      {children}
    </AriaButton>
  )
}

export interface IconButtonProps extends Omit<ButtonProps, 'children' | 'icon'> {
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
