import { chatgpt } from './chatgpt.ts'
import { claudeCode } from './claudeCode.ts'
import { claudeDesktop } from './claudeDesktop.ts'
import { codex } from './codex.ts'
import { copilot } from './copilot.ts'
import { cursor } from './cursor.ts'
import { gemini } from './gemini.ts'
import { goose } from './goose.ts'
import type { ClientGuide } from './guide.ts'
import { mcpRemote } from './mcpRemote.ts'
import { opencode } from './opencode.ts'
import { qwen } from './qwen.ts'
import { vscode } from './vscode.ts'

/** The clients of docs/clients.md, in its order. */
export const CLIENTS: readonly ClientGuide[] = [
  claudeCode, claudeDesktop, cursor, vscode, chatgpt, gemini, codex, opencode, copilot, qwen, goose, mcpRemote,
]
