import { useQuery } from '@tanstack/react-query'
import { Button } from '../../components/Button.tsx'
import { useOverlay } from '../../components/overlay.ts'
import { Localized, useLocalized } from '../../components/Localized.tsx'
import { CopyButton } from '../../components/CopyField.tsx'
import { DetailPanel } from '../../components/DetailPanel.tsx'
import { KindTag } from '../../components/KindTag.tsx'
import { Facts, Section } from '../../components/Facts.tsx'
import { ProblemNotice, Skeleton } from '../../components/States.tsx'
import { useMessages } from '../../messages/index.tsx'
import type { SchemaToolDetailView } from '../../api/schema.d.ts'
import { ParameterList } from '../../schema/ParameterList.tsx'
import { EffectBadge } from './EffectBadge.tsx'
import { moduleQuery, toolQuery } from './queries.ts'
import { splitToolName } from './route.ts'
import styles from './tools.module.css'

const OF_PLAYGROUND = ['try'] as const

interface ToolPanelProps {
  name: string
  onClose: () => void
}

/** A tool with its parameters and its result. */
export function ToolPanel({ name, onClose }: ToolPanelProps) {
  const localized = useLocalized()
  const { playground } = useMessages()
  const { open } = useOverlay(OF_PLAYGROUND)
  const [module, tool] = splitToolName(name)
  const { data, error, refetch } = useQuery(toolQuery(module, tool))
  return (
    <DetailPanel
      title={data ? localized(data.title) : tool}
      onClose={onClose}
      actions={data?.kind === 'tool' && <Button onPress={() => open({ try: name })}>{playground.try}</Button>}
    >
      <div className={styles.panel}>
        {error ? (
          <ProblemNotice error={error} onRetry={() => void refetch()} />
        ) : data ? (
          <ToolDetail tool={data} />
        ) : (
          <Skeleton lines={6} />
        )}
      </div>
    </DetailPanel>
  )
}

function ToolDetail({ tool }: { tool: SchemaToolDetailView }) {
  const { tools } = useMessages()
  const { data: module } = useQuery(moduleQuery(tool.module))
  return (
    <>
      <p lang="en" dir="auto" className={styles.description}>
        {tool.description}
      </p>
      <Facts
        facts={[
          [tools.name, <ToolId key="name" name={`${tool.module}.${tool.name}`} />],
          [tools.module, module ? <Localized key="module" text={module.title} /> : tool.module],
          ...(tool.kind === 'tool' ? [] : [[tools.kind, <KindTag key="kind" kind={tool.kind} />] as const]),
          ...(tool.uri ? [[tools.uri, <code key="uri">{tool.uri}</code>] as const] : []),
          [tools.effect, tool.effect && <EffectBadge key="effect" effect={tool.effect} />],
          ...(tool.effect === 'reads'
            ? []
            : [[tools.repeated, tool.idempotent ? tools.idempotent : tools.notIdempotent] as const]),
          [tools.reach, tool.open_world ? tools.openWorld : tools.closedWorld],
        ]}
      />
      <Section title={tools.parameters}>
        <ParameterList schema={tool.parameters} />
      </Section>
      {tool.kind === 'tool' && (
        <Section title={tools.returns}>
          <ParameterList schema={tool.returns} />
        </Section>
      )}
    </>
  )
}

function ToolId({ name }: { name: string }) {
  const { common, tools } = useMessages()
  return (
    <span className={styles.toolId}>
      <code>{name}</code>
      <CopyButton value={name} label={common.copyLabel(tools.name)} />
    </span>
  )
}
