import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { SchemaToolDetailView } from '../../../api/schema.d.ts'
import { DetailPanel, PanelTabs } from '../../../components/DetailPanel.tsx'
import { useLocalized } from '../../../components/Localized.tsx'
import { Section } from '../../../components/Facts.tsx'
import { ProblemNotice, Skeleton } from '../../../components/States.tsx'
import { useMessages } from '../../../messages/index.tsx'
import { JsonField } from '../../../schema/JsonField.tsx'
import { isObject } from '../../../schema/schema.ts'
import { SchemaForm } from '../../../schema/SchemaForm.tsx'
import { type SchemaErrors, validate } from '../../../schema/validate.ts'
import { EffectBadge } from '../EffectBadge.tsx'
import { ModuleState } from '../ModuleState.tsx'
import { moduleQuery, toolQuery } from '../queries.ts'
import { splitToolName } from '../route.ts'
import { Exchange } from './Exchange.tsx'
import type { ToolCall } from '../../../api/mcp.ts'
import styles from './playground.module.css'

const NO_ERRORS: SchemaErrors = new Map()
const WAYS = ['call', 'get_module_schema', 'batch'] as const
type Way = (typeof WAYS)[number]

/** Runs a tool as oneself, and shows what a model would send and get. */
export function Playground({ name, onClose }: { name: string; onClose: () => void }) {
  const { playground } = useMessages()
  const localized = useLocalized()
  const [module, tool] = splitToolName(name)
  const { data, error, refetch } = useQuery(toolQuery(module, tool))
  const title = playground.title(data ? localized(data.title) : tool)
  return (
    <DetailPanel title={title} subtitle={name} onClose={onClose} wide>
      <div className={styles.panel}>
        {error ? (
          <ProblemNotice error={error} onRetry={() => void refetch()} />
        ) : data ? (
          <Workbench tool={data} />
        ) : (
          <Skeleton lines={6} />
        )}
      </div>
    </DetailPanel>
  )
}

function Workbench({ tool }: { tool: SchemaToolDetailView }) {
  const { playground, schemas } = useMessages()
  const [written, setWritten] = useState<unknown>({})
  const [asJson, setAsJson] = useState(false)
  const [errors, setErrors] = useState(NO_ERRORS)
  const [way, setWay] = useState<Way>('call')
  const params = isObject(written) ? written : {}
  const change = (next: unknown) => {
    setWritten(next ?? {})
    setErrors(NO_ERRORS)
  }
  const check = () => {
    const found = validate(tool.parameters, written, schemas)
    setErrors(found)
    return found.size === 0
  }
  const view = (shown: Way) => (
    <Exchange
      call={buildCall(shown, tool, params)}
      destroys={shown !== 'get_module_schema' && tool.effect === 'destroys' ? `${tool.module}.${tool.name}` : undefined}
      check={shown === 'get_module_schema' ? () => true : check}
    />
  )
  return (
    <>
      <Standing tool={tool} />
      <Section title={playground.parameters}>
        <div role="radiogroup" aria-label={playground.writtenAs} className={styles.switch}>
          {[false, true].map((json) => (
            <label key={String(json)}>
              <input type="radio" name="written-as" checked={asJson === json} onChange={() => setAsJson(json)} />
              {json ? playground.json : playground.form}
            </label>
          ))}
        </div>
        {asJson ? (
          <JsonField label={playground.parameters} value={written} onChange={change} />
        ) : (
          <SchemaForm schema={tool.parameters} value={params} onChange={change} errors={errors} />
        )}
        {errors.size > 0 && (
          <p role="alert" className={styles.error}>
            {playground.wrong(errors.size)}
          </p>
        )}
      </Section>
      <PanelTabs
        label={playground.ways}
        tabs={WAYS.map((key) => ({ key, label: key, content: () => view(key) }))}
        selected={way}
        onSelect={setWay}
      />
    </>
  )
}

/** What the tool does, and what stands in the way of a call. */
function Standing({ tool }: { tool: SchemaToolDetailView }) {
  const { tools } = useMessages()
  const localized = useLocalized()
  const { data: module } = useQuery(moduleQuery(tool.module))
  const unready = module?.connection?.state === 'needs_connect' || module?.connection?.state === 'broken'
  return (
    <div className={styles.standing}>
      <p lang="en" dir="auto">
        {tool.description}
      </p>
      <p className={styles.line}>{tool.effect && <EffectBadge effect={tool.effect} />}</p>
      {unready && module?.connection && (
        <div className={styles.line}>
          <ModuleState connection={module.connection} />
          <Link to="/tools" search={{ connect: tool.module }}>
            {tools.connectModule(localized(module.title))}
          </Link>
        </div>
      )}
    </div>
  )
}

function buildCall(way: Way, tool: SchemaToolDetailView, params: Record<string, unknown>): ToolCall {
  const { module, name } = tool
  if (way === 'get_module_schema') return { name: way, arguments: { module, tools: [name] } }
  if (way === 'call') return { name: way, arguments: { module, tool_name: name, params } }
  return { name: way, arguments: { commands: [{ id: 'one', module, tool_name: name, params, output: true }] } }
}
