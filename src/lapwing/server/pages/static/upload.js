// Sends the chosen file to the server as it is, and goes on to its form. Nothing in it is read here.
const form = document.getElementById("upload"), file = document.getElementById("file");
const state = document.getElementById("state"), progress = document.getElementById("progress");

function plainName(name) {
  const stem = name.replace(/\.csv$/i, "").replace(/[^A-Za-z0-9_-]+/g, "_").replace(/^[_-]+/, "").slice(0, 60);
  return `${stem || "table"}.csv`;
}

function send(chosen) {
  const request = new XMLHttpRequest(), name = plainName(chosen.name);
  request.open("POST", `/new/upload?name=${encodeURIComponent(name)}`);
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.setRequestHeader("Accept", "application/json");
  request.setRequestHeader("X-Lapwing-CSRF", form.dataset.csrf);
  request.upload.addEventListener("progress", (event) => {
    if (event.lengthComputable) progress.value = event.loaded / event.total;
  });
  request.addEventListener("load", () => {
    let told = {};
    try {
      told = JSON.parse(request.responseText);
    } catch {
      told = { message: request.status === 413
        ? "The table is larger than the proxy in front of this server takes. The file was not taken: ask who runs the server."
        : "The server did not answer as expected." };
    }
    if (request.status === 201) {
      location.assign(told.next);
      return;
    }
    ended(told.message || "The file was not taken.");
  });
  request.addEventListener("error", () => ended("The connection broke: the file may be too large. It was not taken."));
  progress.hidden = false;
  state.textContent = `Sending ${name} …`;
  request.send(chosen);
}

function ended(message) {
  state.textContent = message;
  state.className = "bad";
  progress.hidden = true;
  file.value = "";
}

file.addEventListener("change", () => {
  state.className = "";
  if (file.files.length === 1) send(file.files[0]);
});
