{{/* Which paths of the public name go to which process (docs/split.md); the rest is the gateway's. "/" itself is the broker's. */}}
{{- define "mcpist.routes" -}}
console: [/console, /api, /scim]
broker:
  - /oauth
  - /sign-in
  - /sign-out
  - /signed-out
  - /login
  - /register
  - /account
  - /docs
  - /connect
  - /.well-known/oauth-authorization-server
  - /.well-known/openid-configuration
{{- end }}
